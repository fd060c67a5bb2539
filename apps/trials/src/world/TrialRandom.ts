/**
 * Chance that can be had again: a trial draws everything it leaves to chance from one seed, which it prints, so that a run
 * that went wrong can be repeated. The generator is xorshift128, sown by FNV-1a of the seed's text.
 */

/**
 * A source of chance. The draws of a branch depend on its name alone and not on earlier draws of others, so that parallel
 * work does not disturb each other's luck.
 */
export interface TrialRandom {
  readonly seed: string
  /** The next 32 bits, as an integer from 0. */
  readonly word: () => number
  /** An integer from 0 up to but not including the bound, which is an integer of at most 2^32. */
  readonly below: (bound: number) => number
  /** An integer from the first to the last, both included. */
  readonly between: (first: number, last: number) => number
  /** True in `chance` of a thousand draws. */
  readonly perMille: (chance: number) => boolean
  /** One of a list that is not empty. */
  readonly pick: <A>(among: ReadonlyArray<A>) => A
  readonly branch: (name: string | number) => TrialRandom
}

/** The source of a seed. */
export const make = (seed: string): TrialRandom => {
  const state = new Uint32Array([fnv(seed, "a"), fnv(seed, "b"), fnv(seed, "c"), fnv(seed, "d") | 1])
  const word = () => step(state)
  for (let warm = 0; warm < warmUp; warm++) word()
  const below = (bound: number) => Math.floor((word() / 2 ** 32) * bound)
  return {
    seed,
    word,
    below,
    between: (first, last) => first + below(last - first + 1),
    perMille: (chance) => below(1000) < chance,
    pick: (among) => pickAt(among, below(among.length)),
    branch: (name) => make(`${seed}/${name}`)
  }
}

/** The first words of neighbouring seeds resemble each other. */
const warmUp = 16

const step = (state: Uint32Array): number => {
  const [x = 0, y = 0, z = 0, w = 0] = state
  const t = (x ^ (x << 11)) >>> 0
  const next = (w ^ (w >>> 19) ^ t ^ (t >>> 8)) >>> 0
  state.set([y, z, w, next])
  return next
}

const fnv = (...texts: ReadonlyArray<string>): number => {
  let hash = 0x811c9dc5
  for (const character of texts.join("\n")) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193)
  }
  return hash >>> 0
}

const pickAt = <A>(among: ReadonlyArray<A>, index: number): A => {
  const found = among[index]
  if (found === undefined) throw new RangeError("there is nothing to pick from")
  return found
}
