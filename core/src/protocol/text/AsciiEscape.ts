/**
 * JSON text in ASCII alone, for text that a stranger wrote: a header takes nothing else, and a terminal obeys some of the
 * characters beyond it.
 */

const beyondAscii = /[\u007f-\uffff]/g

/** JSON text with every character beyond ASCII written as `\uXXXX`; the same JSON value. */
export const escape = (json: string): string =>
  json.replace(beyondAscii, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)
