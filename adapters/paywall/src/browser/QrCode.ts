/** A text as a QR code, for the camera of another device. */
import { encode } from "uqr"

const svg = <Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string>>
): SVGElementTagNameMap[Tag] => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag)
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
  return element
}

/** The code. Its quiet zone of 4 modules is part of it; the style makes it black on white in both schemes, as cameras expect. */
export const of = (text: string, label: string): SVGSVGElement => {
  const { data, size } = encode(text, { ecc: "M", border: 4 })
  const cells = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
  const code = svg("svg", { class: "code", role: "img", "aria-label": label, viewBox: `0 0 ${size} ${size}` })
  code.append(svg("path", { d: cells.join(""), "shape-rendering": "crispEdges" }))
  return code
}
