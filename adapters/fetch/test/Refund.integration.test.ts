import { once } from "node:events"
import type { ServerResponse } from "node:http"

import { assert, describe, it } from "@effect/vitest"
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

import * as LeapClock from "./LeapClock.ts"
import * as PaidShop from "./PaidShop.ts"
import * as StreamShop from "./StreamShop.ts"
import * as TestPayer from "./TestPayer.ts"

const refundTimeoutMillis = 60_000

/** A clock on which the bound of a refund is over when this has happened, and any other one never. */
const boundAt = (happened: Promise<unknown>): Clock.Clock =>
  Object.assign(LeapClock.make(), {
    sleep: (duration: Duration.Duration) =>
      Duration.toMillis(duration) === refundTimeoutMillis ? Effect.promise(() => happened) : Effect.never
  })

/** A shop that never responds to these requests, and a payer whose bound is over when the first of them has arrived. */
const silentTo = async (isSilent: (arrival: PaidShop.Arrival) => boolean) => {
  const { promise, resolve } = Promise.withResolvers<ServerResponse>()
  const offer = PaidShop.offer({ scheme: "channel" })
  const shop = await PaidShop.open((response, arrival) => {
    if (isSilent(arrival)) resolve(response)
    else PaidShop.refuse(402, { accepts: [offer] })(response, arrival)
  })
  const { client } = StreamShop.signerOf()
  const { fetch } = TestPayer.make({ schemes: [client], refundTimeoutMillis, clock: boundAt(promise) })
  return { shop, fetch, arrived: promise }
}

describe("a shop that accepts the connection and never responds", () => {
  it("to the request for a refund leaves its outcome unknown", async () => {
    const { arrived, fetch, shop } = await silentTo(({ payment }) => payment !== undefined)
    await using _ = shop
    const error = await TestPayer.rejection(fetch.refund(`${shop.origin}/report`))
    const { host } = new URL(shop.origin)
    assert.deepInclude(error, { _tag: "RefundUnanswered", host, channelId: StreamShop.channelId, isAsked: true })
    assert.include(error.message, "withdraw without the shop")
    assert.strictEqual(shop.paid().length, 1)
    const response = await arrived
    if (!response.closed) await once(response, "close")
  })

  it("to the unpaid request gets no request for a refund", async () => {
    const { arrived, fetch, shop } = await silentTo(() => true)
    await using _ = shop
    const error = await TestPayer.rejection(fetch.refund(`${shop.origin}/report`))
    assert.deepInclude(error, { _tag: "RefundUnanswered", channelId: undefined, isAsked: false })
    assert.strictEqual(shop.paid().length, 0)
    const response = await arrived
    if (!response.closed) await once(response, "close")
  })

  it("holds up no caller that gives up before", async () => {
    const { fetch, shop } = await silentTo(() => true)
    await using _ = shop
    const controller = new AbortController()
    const reason = new Error("the caller has changed its mind")
    controller.abort(reason)
    assert.strictEqual(
      await TestPayer.rejection(fetch.refund(`${shop.origin}/report`, { signal: controller.signal })),
      reason
    )
  })
})
