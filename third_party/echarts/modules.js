// The parts of Apache ECharts that the HTML report draws with; bundle.sh makes echarts.js of them.
import * as core from "echarts/core";
import { BarChart, CustomChart, LineChart } from "echarts/charts";
import {
  AriaComponent,
  GridComponent,
  LegendComponent,
  LegendScrollComponent,
  MarkLineComponent,
  TooltipComponent,
} from "echarts/components";
import { SVGRenderer } from "echarts/renderers";

core.use([
  AriaComponent, BarChart, CustomChart, GridComponent, LegendComponent, LegendScrollComponent,
  LineChart, MarkLineComponent, SVGRenderer, TooltipComponent,
]);

export const { init, color } = core;
