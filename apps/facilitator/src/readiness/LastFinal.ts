/**
 * Newest final payment of each network on record, and its block, which the chain must not take back. Records are read by their
 * serials; a binary search finds the newest serial, which is remembered.
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

/** Finds the last final payment of a network among the newest thousand records; `undefined` if there is none. */
export type Find = Effect.Effect<LastFinal | undefined, FacilitatorUnavailable>

/** Milliseconds for which a found payment is kept: a block that is a minute older proves as much. */
const holdsMillis = 60_000
/** Milliseconds for which "none" is kept. */
const noneMillis = 2_000
const pageSize = 100n
const mostPages = 10n

/** The finder of each network of one store. */
export const make = (store: Store): ((network: string) => Find) => {
  let newest = 0n
  const isBeyond = (serial: bigint) => Effect.map(store.page(serial, 1), ({ length }) => length > 0)
  /** The largest serial of a record, or zero. */
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
      // A payment that was found stays final, even when the newest thousand records contain none any more.
      const last = (yield* find(network)) ?? known?.last
      known = { last, at: now }
      return last
    })
  }
}
