const { Worker, isMainThread, workerData, parentPort } = require('worker_threads');
const { execFile } = require('child_process');

function work(seed) {
    const kept = [];
    for (let i = 0; i < 1500000; ++i) {
        seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
        if (i % 16 === 0) kept.push({ seed });
    }
    return (seed ^ kept.length) >>> 0;
}

if (!isMainThread) {
    parentPort.postMessage(work(workerData));
} else {
    const results = [1, 2, 3].map((seed) => new Promise((resolve) =>
        new Worker(__filename, { workerData: seed }).on('message', resolve)));
    let ticks = 0;
    const timer = setInterval(() => ++ticks, 5);
    Promise.all(results).then((values) => {
        clearInterval(timer);
        console.log(values, work(9), ticks > 0);
        execFile('sh', ['-c', 'echo child; exit 3'], (error, out) => console.log(out.trim(), error.code));
    });
}
