/**
 * Payment channels through the service as an operator runs it: settings, tenants with keys and registered payees, the lent authorizer,
 * metrics.
 */
import { assert, describe, layer } from "@effect/vitest"
import { ChannelContracts, EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"

import { FacilitatorProcess, FacilitatorSettings } from "../src/index.ts"
import * as TestChannel from "./TestChannel.ts"

const keys = { shop: "key-of-the-shop-0001", rival: "key-of-the-rival-001", open: "key-of-an-open-one-1" }

const environmentOn = ({ accounts, network, rpcUrl, token }: EvmTestChain.Shape) => {
  const { address, decimals, name, symbol, version } = token
  return {
    PORT: "0",
    PONTAGE_STORE: "memory",
    PONTAGE_API_KEYS: JSON.stringify([
      { key: keys.shop, payees: [accounts.signers[0].address] },
      { key: keys.rival, payees: [accounts.stranger.address] },
      keys.open
    ]),
    PONTAGE_EVM_RPC_URL: rpcUrl,
    PONTAGE_EVM_SIGNER_KEY: accounts.signers[1].privateKey,
    PONTAGE_EVM_CHANNEL_SIGNER_KEY: accounts.signers[2].privateKey,
    PONTAGE_EVM_CHANNEL_AUTHORIZER_KEY: accounts.stranger.privateKey,
    PONTAGE_EVM_CHANNEL_MINIMUM_DEPOSIT: "20000",
    PONTAGE_EVM_MINIMUM_PRICE: "0.04",
    PONTAGE_EVM_ASSETS: JSON.stringify([{ network, address, symbol, decimals, name, version }])
  }
}

const start = Effect.fnUntraced(function* (chain: EvmTestChain.Shape) {
  yield* ChannelContracts.deploy(chain)
  const settings = yield* FacilitatorSettings.fromEnvironment(environmentOn(chain))
  return yield* Effect.provide(FacilitatorProcess.start(settings), Logger.layer([]))
})

const decodeAnswer = Schema.decodeUnknownEffect(
  Schema.Struct({
    success: Schema.optionalKey(Schema.Boolean),
    errorReason: Schema.optionalKey(Schema.String),
    error: Schema.optionalKey(Schema.String)
  })
)

/** The word of an answer: `success`, the reason of x402, or the error of a fault. */
const ask = (url: string, key: string, body: unknown) =>
  Effect.promise(async (): Promise<unknown> => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${key}` }
    const answer = await fetch(`${url}/settle`, { method: "POST", headers, body: JSON.stringify(body) })
    return answer.json()
  }).pipe(
    Effect.flatMap(decodeAnswer),
    Effect.map(({ error, errorReason, success }) =>
      success === true ? "success" : (errorReason?.replace("invalid_batch_settlement_evm_", "") ?? error)
    )
  )

const textAt = (url: string) => Effect.promise(() => fetch(url).then((answer) => answer.text()))

layer(EvmTestChain.layer({ payers: 2 }), { excludeTestServices: true })("payment channels of a service", (it) => {
  describe("with tenants", () => {
    it.effect("are closed by the tenant of the registered payee alone, and counted by their kind", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const { url } = yield* start(chain)
        const lent = chain.accounts.stranger.address
        const supported = yield* textAt(`${url}/supported`)
        assert.include(supported, '"scheme":"batch-settlement"')
        assert.include(supported, `"receiverAuthorizer":"${lent}"`)
        const channel = yield* TestChannel.make(chain, lent)
        const { claim, deposit, refund } = channel
        const cheap = { ...deposit, deposit: { ...deposit.deposit, amount: "39999" } }
        assert.strictEqual(yield* ask(url, keys.shop, TestChannel.body(channel, cheap)), "deposit_below_min_deposit")
        assert.strictEqual(yield* ask(url, keys.shop, TestChannel.body(channel, deposit)), "success")
        for (const message of [claim, refund]) {
          assert.strictEqual(yield* ask(url, keys.rival, TestChannel.body(channel, message)), "forbidden")
          // The rival's own payee in the offer, another's channel in the message.
          assert.strictEqual(yield* ask(url, keys.rival, TestChannel.body(channel, message, lent)), "receiver_mismatch")
          // A caller without registered payees may settle for any payee, and has no signature of ours.
          assert.strictEqual(
            yield* ask(url, keys.open, TestChannel.body(channel, message)),
            "authorizer_not_configured"
          )
        }
        const few = { ...claim, claims: claim.claims.map((row) => ({ ...row, totalClaimed: "39999" })) }
        assert.strictEqual(yield* ask(url, keys.shop, TestChannel.body(channel, few)), "claim_below_minimum")
        assert.strictEqual(yield* ask(url, keys.shop, TestChannel.body(channel, claim)), "success")
        assert.strictEqual(yield* ask(url, keys.shop, TestChannel.body(channel, refund)), "success")
        const metrics = yield* textAt(`${url}/metrics`)
        for (const [method, count] of [
          ["channel_deposit", 1],
          ["channel_job", 2]
        ] as const) {
          assert.match(
            metrics,
            new RegExp(`pontage_payments_total\\{[^}]*method="${method}"[^}]*status="included"[^}]*\\} ${count}\\b`)
          )
        }
        const ready = yield* textAt(`${url}/ready`)
        assert.include(ready, `chain ${chain.network} batch-settlement`)
      }).pipe(Effect.scoped)
    )
  })
})
