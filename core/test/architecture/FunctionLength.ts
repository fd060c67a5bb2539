/** The functions of a file and how many lines of code each has, header and closing included. */
import { blanked, codeLines, type SourceFile } from "./SourceText.ts"

export interface MeasuredFunction {
  readonly path: string
  /** Where it begins, counted from 1. */
  readonly line: number
  readonly lines: number
}

/** Where a function begins, and where its body ends. */
interface Extent {
  readonly start: number
  readonly end: number
}

export const functionsOf = ({ path, text }: SourceFile): ReadonlyArray<MeasuredFunction> => {
  const code = blanked(text)
  return [...arrows(code), ...declared(code)].map(({ end, start }) => {
    const first = code.lastIndexOf("\n", start) + 1
    return { path, line: code.slice(0, start).split("\n").length, lines: codeLines(code.slice(first, end)) }
  })
}

const arrows = (code: string): ReadonlyArray<Extent> =>
  [...code.matchAll(/=>/g)]
    .filter(({ index }) => !isType(code, index))
    .map(({ index }) => {
      const body = skipSpace(code, index + 2)
      return {
        start: startOfArrow(code, index),
        end: code.charAt(body) === "{" ? endOfGroup(code, body) : endOfExpression(code, body)
      }
    })

const declared = (code: string): ReadonlyArray<Extent> =>
  [
    ...code.matchAll(/\bfunction\b\s*\*?\s*[\w$]*\s*(?:<[^(]*>)?\s*\(/g),
    ...code.matchAll(
      /^[ \t]+(?:(?:public|private|protected|static|async|override|get|set)\s+)*\*?(?!(?:if|for|while|switch|catch|return|with)\b)[\w$]+\s*\(/gm
    )
  ].flatMap((match) => {
    const body = bodyAfter(code, endOfGroup(code, match.index + match[0].length - 1))
    return body === undefined ? [] : [{ start: match.index + match[0].length - 1, end: endOfGroup(code, body) }]
  })

/** Parameters that stand on lines of their own belong to the function. */
const startOfArrow = (code: string, arrow: number): number => {
  const line = code.lastIndexOf("\n", arrow) + 1
  const first = skipSpace(code, line)
  if (code.charAt(first) !== ")") return arrow
  let depth = 0
  for (let at = first; at >= 0; at--) {
    if (isClosing(code.charAt(at))) depth++
    if (isOpening(code.charAt(at)) && --depth === 0) return at
  }
  return arrow
}

/** An arrow between types has no body: `type F = (a: A) => B`, `readonly f: (a: A) => B`. */
const isType = (code: string, arrow: number): boolean => {
  const line = code.slice(code.lastIndexOf("\n", arrow) + 1, arrow)
  return /^\s*(?:readonly\s+[\w$]+\??\s*:|(?:export\s+)?type\s)/.test(line)
}

/** Where the body of a function begins, after its parameters and their type; a signature has none. */
const bodyAfter = (code: string, from: number): number | undefined => {
  let at = skipSpace(code, from)
  if (code.charAt(at) === "{") return at
  if (code.charAt(at) !== ":") return undefined
  let angles = 0
  for (at++; at < code.length; at++) {
    const one = code.charAt(at)
    if (one === "<") angles++
    else if (one === ">") angles--
    else if (one === "{" && angles === 0) return at
    else if ((one === "\n" || one === ";" || one === ",") && angles === 0) return undefined
  }
  return undefined
}

const skipSpace = (code: string, from: number): number => {
  let at = from
  while (/\s/.test(code.charAt(at))) at++
  return at
}

const isOpening = (one: string) => one === "(" || one === "[" || one === "{"
const isClosing = (one: string) => one === ")" || one === "]" || one === "}"

/** Behind the bracket that closes the one at `from`. */
const endOfGroup = (code: string, from: number): number => {
  let depth = 0
  for (let at = from; at < code.length; at++) {
    if (isOpening(code.charAt(at))) depth++
    if (isClosing(code.charAt(at)) && --depth === 0) return at + 1
  }
  return code.length
}

/** An expression ends at a comma, at a bracket that closes something around it, or where the indentation falls back. */
const endOfExpression = (code: string, from: number): number => {
  const indent = indentOf(code, code.lastIndexOf("\n", code.lastIndexOf("=>", from)) + 1)
  let depth = 0
  for (let at = from; at < code.length; at++) {
    const one = code.charAt(at)
    if (isOpening(one)) depth++
    else if (isClosing(one) && --depth < 0) return at
    else if (one === "," && depth === 0) return at
    else if (one === "\n" && depth === 0 && fallsBack(code, at + 1, indent)) return at
  }
  return code.length
}

const indentOf = (code: string, lineStart: number): number => code.slice(lineStart).search(/\S/)

const fallsBack = (code: string, lineStart: number, indent: number): boolean => {
  const line = code.slice(lineStart, (code.indexOf("\n", lineStart) + 1 || code.length + 1) - 1)
  return line.trim() !== "" && indentOf(line, 0) <= indent
}
