/** The common parts of the tests of refunds: a shop with a payer, a buyer of ours, and purchases in a row. */
import { assert } from "@effect/vitest"
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import { channelEvm, exactEvm } from "@pontage/evm"
import { wrapFetch } from "@pontage/fetch"
import * as Effect from "effect/Effect"

import { opened, price, type Shop } from "./ChannelShopTrial.ts"

/** The deposit that the offers ask for. */
export const deposit = 100n * price

/** A shop, and a payer; `spent` is what has left its account. */
export const funded = Effect.fnUntraced(function* (terms: Partial<Parameters<typeof opened>[0]> = {}) {
  const shop = yield* opened({ claimAt: 1_000n * price, ...terms })
  const payer = yield* shop.chain.payer
  const before = yield* shop.chain.balanceOf(payer.address)
  return { shop, payer, spent: Effect.map(shop.chain.balanceOf(payer.address), (now) => before - now) }
})

/** A buyer of ours with a journal of its own. */
export const ours = ({ chain: { node } }: Shop, key: `0x${string}`, send: typeof fetch = fetch) =>
  wrapFetch(send, {
    schemes: [
      channelEvm.client({ signer: exactEvm.localSigner(key), network: BaseSepolia.network, rpcUrl: node.rpcUrl })
    ],
    limits: { perDay: "$10" }
  })

/** Buys one after the other. */
export const bought = (pay: (url: string) => Promise<Response>, url: string, times: number) =>
  Effect.promise(async () => {
    for (let request = 0; request < times; request++) {
      // oxlint-disable-next-line no-await-in-loop -- one request after the other
      const response = await pay(url)
      assert.strictEqual(response.status, 200)
      // oxlint-disable-next-line no-await-in-loop -- one request after the other
      await response.text()
    }
  })
