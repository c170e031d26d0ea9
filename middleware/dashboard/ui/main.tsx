import "uplot/dist/uPlot.min.css";
import "./style/tokens.css";
import "./style/shell.css";
import "./style/controls.css";
import "./style/panels.css";
import "./style/tables.css";
import "./style/data.css";
import "./style/timeline.css";
import { render } from "preact";
import { takeTokenFromAddress } from "./api/token.js";
import { App } from "./app.js";

takeTokenFromAddress();
const root = document.getElementById("app");
if (root !== null) render(<App />, root);
