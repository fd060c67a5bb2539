/**
 * The story of a simulation in words for people, and a digest of every single step of it.
 */
import type { SimulatedTime } from "./world/SimulatedTime.ts"

/** A story. */
export interface Story {
  /** Adds a line, which is made only if the story is read. */
  readonly tell: (words: () => string) => void
  /** Takes a step into the digest. */
  readonly step: (what: string) => void
  readonly lines: () => ReadonlyArray<string>
  /** Two runs with the same digest have taken the same steps at the same instants. */
  readonly digest: () => string
}

/** A story that begins now. */
export const make = (time: SimulatedTime, tells: boolean): Story => {
  const start = time.now()
  const lines: Array<string> = []
  let first = 0x811c9dc5
  let second = 0x1b873593
  const take = (text: string) => {
    for (let place = 0; place < text.length; place++) {
      const code = text.charCodeAt(place)
      first = Math.imul(first ^ code, 0x01000193)
      second = Math.imul(second ^ (code + place), 0x85ebca6b)
    }
  }
  return {
    tell: (words) => {
      if (!tells) return
      lines.push(`${((time.now() - start) / 1000).toFixed(3).padStart(9)} s  ${words()}`)
    },
    step: (what) => {
      take(what)
      first = Math.imul(first ^ (time.now() - start), 0x01000193)
      second = (second + time.now() - start) >>> 0
    },
    lines: () => lines,
    digest: () => `${hex(first)}${hex(second)}`
  }
}

const hex = (word: number): string => (word >>> 0).toString(16).padStart(8, "0")
