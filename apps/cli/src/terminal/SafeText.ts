/**
 * Text of strangers for a terminal. A shop writes descriptions, messages, headers and bodies; sequences that move the cursor,
 * change the title or reverse the direction of writing could forge a price or a receipt.
 */

/** Control characters of both sets, and the invisible ones that reorder or hide text. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const unsafe = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g

const escaped = (character: string): string => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`

/** One line of a stranger's text: unsafe characters written as escapes, at most `longest` characters. */
export const line = (text: string, longest = 200): string => {
  const part = text.length > longest ? `${text.slice(0, longest)}…` : text
  return part.replaceAll(/\s+/g, " ").replaceAll(unsafe, escaped).trim()
}

/** A stranger's text of several lines: line breaks and tabs stay. */
export const lines = (text: string): string =>
  text
    .replaceAll("\r\n", "\n")
    .replaceAll(unsafe, (character) => (character === "\n" || character === "\t" ? character : escaped(character)))
