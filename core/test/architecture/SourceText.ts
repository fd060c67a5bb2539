/**
 * TypeScript as plain text: which characters are code, which are comments, which are the inside of a string. Enough to find
 * imports and functions without a compiler, and small enough to be trusted.
 */

/** One file of the project; its path from the top, with slashes. */
export interface SourceFile {
  readonly path: string
  readonly text: string
}

/** A text of the same length and lines in which comments and the inside of strings, templates and regexes are blank. */
export const blanked = (text: string): string => {
  const out = Array.from({ length: text.length }, () => "")
  const state: State = { text, out, at: 0, braces: [] }
  while (state.at < text.length) step(state)
  return out.join("")
}

/** The number of lines with code: not blank, not comment alone. */
export const codeLines = (blank: string): number => blank.split("\n").filter((line) => line.trim() !== "").length

interface State {
  readonly text: string
  readonly out: Array<string>
  at: number
  /** For each open brace, whether it belongs to a template's `${`. */
  readonly braces: Array<boolean>
}

const step = (state: State): void => {
  const { text } = state
  const two = text.slice(state.at, state.at + 2)
  const one = text.charAt(state.at)
  if (two === "//") return hide(state, endOfLine(text, state.at))
  if (two === "/*") return hide(state, endAfter(text, "*/", state.at + 2))
  if (one === '"' || one === "'") return quoted(state, endOfString(text, state.at, one))
  if (one === "`") return template(state)
  if (one === "/" && isRegexPlace(state)) return quoted(state, endOfRegex(text, state.at))
  if (one === "{") state.braces.push(false)
  if (one === "}" && state.braces.pop() === true) return template(state)
  show(state)
}

const show = (state: State): void => {
  state.out[state.at] = state.text.charAt(state.at)
  state.at++
}

const hide = (state: State, end: number): void => {
  for (; state.at < end; state.at++) state.out[state.at] = state.text.charAt(state.at) === "\n" ? "\n" : " "
}

/** The quotes stay, what is between them goes. */
const quoted = (state: State, end: number): void => {
  show(state)
  hide(state, end - 1)
  if (state.at < end) show(state)
}

/** From a backtick, or the brace that ends a substitution, to the next substitution or the closing backtick. */
const template = (state: State): void => {
  const { text } = state
  show(state)
  let end = state.at
  while (end < text.length && text.charAt(end) !== "`" && text.slice(end, end + 2) !== "${") {
    end += text.charAt(end) === "\\" ? 2 : 1
  }
  hide(state, Math.min(end, text.length))
  if (text.charAt(end) === "$") {
    show(state)
    state.braces.push(true)
  }
  if (state.at < text.length) show(state)
}

const endOfLine = (text: string, from: number): number => {
  const end = text.indexOf("\n", from)
  return end === -1 ? text.length : end
}

const endAfter = (text: string, what: string, from: number): number => {
  const end = text.indexOf(what, from)
  return end === -1 ? text.length : end + what.length
}

const endOfString = (text: string, from: number, quote: string): number => {
  let end = from + 1
  while (end < text.length && text.charAt(end) !== quote && text.charAt(end) !== "\n") {
    end += text.charAt(end) === "\\" ? 2 : 1
  }
  return end + 1
}

const endOfRegex = (text: string, from: number): number => {
  let end = from + 1
  let inClass = false
  while (end < text.length && (inClass || text.charAt(end) !== "/")) {
    const one = text.charAt(end)
    if (one === "[") inClass = true
    if (one === "]") inClass = false
    end += one === "\\" ? 2 : 1
  }
  return end + 1
}

/** A slash begins a regex where a value may begin, and divides where one has ended. */
const isRegexPlace = ({ at, out }: State): boolean => {
  const before = out
    .slice(Math.max(0, at - 40), at)
    .join("")
    .trimEnd()
  return before === "" || /[=(,:[!&|?{};<>+*%~^-]$/.test(before) || /\b(?:return|case|typeof|yield)$/.test(before)
}
