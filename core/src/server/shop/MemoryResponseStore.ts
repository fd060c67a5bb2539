/** Kept responses in the memory of this process, within a limit of characters; the oldest make room for new ones. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import * as OptionCheck from "../../protocol/OptionCheck.ts"
import type { Misconfigured } from "../../protocol/ProtocolError.ts"
import { ResponseStore } from "./ResponseStore.ts"

/** The options of the memory. */
export interface Options {
  /** Limit on all kept texts together, in characters: default 32 Mi, which take 32 to 64 MiB of memory. */
  readonly maximumCharacters?: number
}

const check = OptionCheck.options<Options>({ maximumCharacters: OptionCheck.optional(OptionCheck.whole(1)) })

const defaultMaximum = 32 * 1024 * 1024

interface Kept {
  readonly text: string
  readonly until: number
}

const timed = <A>(step: (now: number) => A) => Effect.map(Clock.currentTimeMillis, step)

/** An empty store. */
export const make = Effect.fnUntraced(function* (
  options: Options = {}
): Effect.fn.Return<ResponseStore["Service"], Misconfigured> {
  const { maximumCharacters = defaultMaximum } = yield* Effect.fromResult(
    OptionCheck.read(check, options, "MemoryResponseStore")
  )
  const responses = new Map<string, Kept>()
  let characters = 0
  const sizeOf = (name: string, { text }: Kept) => name.length + text.length
  const remove = (name: string) => {
    const known = responses.get(name)
    if (known === undefined) return
    responses.delete(name)
    characters -= sizeOf(name, known)
  }
  const current = (name: string, now: number): Kept | undefined => {
    const known = responses.get(name)
    return known !== undefined && now < known.until ? known : undefined
  }
  /** Responses live equally long, so the oldest are over first, and leave first if there is no room. */
  const makeRoom = (now: number) => {
    for (const [name, { until }] of responses) {
      if (characters <= maximumCharacters && now < until) return
      remove(name)
    }
  }
  const put = (name: string, kept: Kept, now: number) => {
    remove(name)
    responses.set(name, kept)
    characters += sizeOf(name, kept)
    makeRoom(now)
  }
  return ResponseStore.of({
    find: (name) => timed((now) => current(name, now)?.text),
    keep: (name, text, until) => timed((now) => put(name, { text, until }, now)),
    keepFirst: (name, text, until) =>
      timed((now) => {
        const known = current(name, now)
        if (known === undefined) put(name, { text, until }, now)
        return known?.text ?? text
      }),
    drop: (name, text) => timed((now) => (current(name, now)?.text === text ? remove(name) : undefined))
  })
})

/** The store as a layer. */
export const layer = (options: Options = {}): Layer.Layer<ResponseStore, Misconfigured> =>
  Layer.effect(ResponseStore, make(options))
