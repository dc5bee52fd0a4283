// @ts-check
import { parse, View } from "vega";
import { dashboardSpecification } from "./specification.mjs";

/**
 * @param {import("./record.mjs").Recording} recording
 * @param {import("../charts/themes.mjs").Theme} theme
 * @returns {Promise<string>} SVG
 */
export async function drawDashboard(recording, theme) {
  const view = new View(parse(dashboardSpecification(recording, theme)), { renderer: "none" });
  try {
    // A tenth of a pixel is not to be seen.
    const short = (await view.toSVG()).replace(
      /\d+\.\d{4,}/g,
      (number) => `${Number(Number(number).toFixed(1))}`,
    );
    return `${short}\n`;
  } finally {
    view.finalize();
  }
}
