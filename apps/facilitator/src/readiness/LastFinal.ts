/**
 * The last payments that have become final, as the records show them: the newest block of each network that was not to be taken
 * back any more. Records are read by their serials; where the newest are is found by halves, and remembered.
 */
import type { Block, FacilitatorUnavailable, PaymentStore } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

type Store = Pick<PaymentStore.PaymentStore["Service"], "page">

/** A payment that is final, and its block. */
export interface LastFinal {
  readonly paymentId: string
  readonly block: Block
}

/** Finds the last one of a network, among the newest thousand records; `undefined` where there is none. */
export type Find = Effect.Effect<LastFinal | undefined, FacilitatorUnavailable>

/** How long an answer holds, in milliseconds: the records grow all the time, and a block a minute older tells as much. */
const holdsMillis = 60_000
/** How long there is taken to be none. */
const noneMillis = 2_000
const pageSize = 100n
const mostPages = 10n

/** Makes it for the networks of one store. */
export const make = (store: Store): ((network: string) => Find) => {
  let newest = 0n
  const isBeyond = (serial: bigint) => Effect.map(store.page(serial, 1), ({ length }) => length > 0)
  /** A serial that no record is beyond. */
  const findNewest = Effect.gen(function* () {
    let [low, step] = [newest, 1n]
    while (yield* isBeyond(low + step - 1n)) {
      low += step
      step *= 2n
    }
    let high = low + step - 1n
    while (low < high) {
      const middle = (low + high) / 2n
      if (yield* isBeyond(middle)) low = middle + 1n
      else high = middle
    }
    newest = low
    return newest
  })
  const find = Effect.fnUntraced(function* (network: string) {
    const end = yield* findNewest
    for (let back = 1n; back <= mostPages; back++) {
      const after = end - back * pageSize
      const records = yield* store.page(after > 0n ? after : 0n, Number(pageSize))
      const last = records.findLast(
        ({ block, requirements, status }) =>
          status === "final" && block !== undefined && requirements.network === network
      )
      if (last?.block !== undefined) return { paymentId: last.paymentId, block: last.block }
      if (after <= 0n) break
    }
    return undefined
  })
  return (network) => {
    let known: { readonly last: LastFinal | undefined; readonly at: number } | undefined
    return Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const holds = known?.last === undefined ? noneMillis : holdsMillis
      if (known !== undefined && now >= known.at && now - known.at < holds) return known.last
      // One that was found stays true, also when the newest records hold none any more.
      const last = (yield* find(network)) ?? known?.last
      known = { last, at: now }
      return last
    })
  }
}
