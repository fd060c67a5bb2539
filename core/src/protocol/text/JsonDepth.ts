/**
 * The depth of nesting of a JSON text, found without parsing it, so that a text nested too deep is refused before anything
 * walks it.
 */

/** Limit on the nesting of a payment and of the JSON inside it, in levels. */
export const maximumDepth = 8

/**
 * The deepest nesting of brackets outside strings. Text that is no JSON gets some number; parsing refuses it later.
 */
export const depthOf = (text: string): number => {
  let depth = 0
  let deepest = 0
  let inString = false
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (inString) {
      if (code === 92) index++
      else if (code === 34) inString = false
    } else if (code === 34) inString = true
    else if (code === 91 || code === 123) deepest = Math.max(deepest, ++depth)
    else if (code === 93 || code === 125) depth--
  }
  return deepest
}
