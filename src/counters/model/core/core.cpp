namespace tmaprobe::counters::model {}
