/** Servers of x402 on the service and a real chain: what they are told, and what moves. */
import { assert, describe, layer } from "@effect/vitest"
import { FacilitatorClient } from "@pontage/core"
import { EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"

import { FacilitatorProcess, FacilitatorSettings } from "../src/index.ts"
import * as ServiceProcess from "./ServiceProcess.ts"
import * as X402Payment from "./X402Payment.ts"

const { amount, chainId, name, network } = X402Payment
const versions = [1, 2] as const
const networkIn = { 1: name, 2: network } as const
const used = { 1: "duplicate_settlement", 2: "invalid_exact_evm_nonce_already_used" } as const
const unknown = { 1: "unexpected_settle_error", 2: "settlement_pending" } as const

const Hash = Schema.String.check(Schema.isPattern(/^0x[0-9a-f]{64}$/))
const decodeSettled = Schema.decodeUnknownEffect(
  Schema.Struct({ success: Schema.Literal(true), transaction: Hash, payer: Schema.String, network: Schema.String })
)
const decodePending = Schema.decodeUnknownEffect(
  Schema.Struct({ success: Schema.Literal(false), errorReason: Schema.String, transaction: Hash })
)
const decodeKinds = Schema.decodeUnknownEffect(Schema.Struct({ kinds: Schema.Array(Schema.Json) }))

const environmentOn = ({ accounts, rpcUrl, token }: EvmTestChain.Shape, settleTimeoutMillis: number) => {
  const { address, decimals, name, symbol, version } = token
  return {
    PORT: "0",
    PONTAGE_STORE: "memory",
    PONTAGE_SETTLE_TIMEOUT_MS: `${settleTimeoutMillis}`,
    PONTAGE_EVM_RPC_URL: rpcUrl,
    PONTAGE_EVM_SIGNER_KEY: accounts.signers[0].privateKey,
    PONTAGE_EVM_ASSETS: JSON.stringify([{ network, address, symbol, decimals, name, version }])
  }
}

const askAt = (url: string) => (path: string, body: unknown) =>
  Effect.promise(async () => {
    const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }
    const answer = await fetch(url + path, init)
    assert.strictEqual(answer.status, 200)
    const said: unknown = await answer.json()
    return said
  })

/** Asks for the settlement until its transaction is known, which a slow machine may not have signed at the first answer. */
const pendingAt = (ask: ReturnType<typeof askAt>, body: unknown) =>
  Effect.retry(Effect.flatMap(ask("/settle", body), decodePending), { while: () => true })

/** The service on this chain, gone with the scope. */
const start = Effect.fnUntraced(function* (chain: EvmTestChain.Shape, settleTimeoutMillis = 25_000) {
  const settings = yield* FacilitatorSettings.fromEnvironment(environmentOn(chain, settleTimeoutMillis))
  const { url } = yield* Effect.provide(FacilitatorProcess.start(settings), Logger.layer([]))
  return { ask: askAt(url), client: yield* FacilitatorClient.make({ url }), url }
})

/** The amount that reached the payee, and the number of transfers. */
const income = Effect.fnUntraced(function* ({ accounts, balanceOf, transfers }: EvmTestChain.Shape) {
  const { address } = accounts.payee
  const paid = (yield* transfers()).filter(({ to }) => to === address)
  return { balance: yield* balanceOf(address), transfers: paid.length }
})

describe("servers of x402", () => {
  layer(EvmTestChain.layer({ payers: 10, chainId }), { excludeTestServices: true })((it) => {
    it.effect.each(versions)("version %i: a payment is verified, settled once, and then used", (version) =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const { ask } = yield* start(chain)
        const payer = chain.accounts.payers[version]?.address ?? ""
        const { [version]: body, [version === 1 ? 2 : 1]: other } = yield* X402Payment.bodies(
          chain,
          version,
          `once ${version}`
        )
        const before = yield* income(chain)
        assert.deepStrictEqual(yield* ask("/verify", body), { isValid: true, payer })
        assert.deepStrictEqual(yield* income(chain), before)
        const settled = yield* ask("/settle", body)
        const { transaction } = yield* decodeSettled(settled)
        assert.deepStrictEqual(settled, {
          success: true,
          payer,
          transaction,
          network: networkIn[version],
          ...(version === 2 && { amount: `${amount}` })
        })
        const after = { balance: before.balance + amount, transfers: before.transfers + 1 }
        assert.deepStrictEqual(yield* income(chain), after)
        for (const again of [body, other]) {
          const word = used[again.x402Version === 1 ? 1 : 2]
          assert.deepInclude(yield* ask("/settle", again), { success: false, errorReason: word, transaction: "" })
          assert.deepInclude(yield* ask("/verify", again), { isValid: false, invalidReason: word })
        }
        assert.deepStrictEqual(yield* income(chain), after)
      }).pipe(Effect.scoped)
    )

    it.effect("of sixteen copies at once one is answered, and one transfer is made", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const { ask } = yield* start(chain)
        const bodies = yield* X402Payment.bodies(chain, 3, "copies")
        const before = yield* income(chain)
        const copies = Array.from({ length: 16 }, (_, index) => bodies[index % 2 === 0 ? 1 : 2])
        const answers = yield* Effect.forEach(copies, (copy) => ask("/settle", copy), { concurrency: "unbounded" })
        const said = answers.map((answer) => JSON.stringify(answer))
        assert.lengthOf(
          said.filter((answer) => answer.includes('"success":true')),
          1
        )
        assert.lengthOf(
          said.filter((answer) => /"(duplicate_settlement|\w+_nonce_already_used)"/.test(answer)),
          15
        )
        const after = { balance: before.balance + amount, transfers: before.transfers + 1 }
        assert.deepStrictEqual(yield* income(chain), after)
      }).pipe(Effect.scoped)
    )

    it.effect.each(versions)(
      "version %i: who was told that nothing is known yet is answered from the record",
      (version) =>
        Effect.gen(function* () {
          const chain = yield* EvmTestChain.EvmTestChain
          const { ask } = yield* start(chain, 1500)
          const { [version]: body } = yield* X402Payment.bodies(chain, 4, `late ${version}`)
          const before = yield* income(chain)
          yield* chain.setAutomine(false)
          const early = yield* pendingAt(ask, body)
          assert.strictEqual(early.errorReason, unknown[version])
          yield* chain.setAutomine(true)
          yield* chain.mine()
          const { transaction } = yield* decodeSettled(yield* ask("/settle", body))
          assert.strictEqual(transaction, early.transaction)
          const third = yield* ask("/settle", body)
          assert.deepInclude(third, { success: false, errorReason: used[version] })
          const after = { balance: before.balance + amount, transfers: before.transfers + 1 }
          assert.deepStrictEqual(yield* income(chain), after)
        }).pipe(Effect.scoped)
    )

    it.effect("a caller with that response is answered by the next process too, when the first was killed", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const environment = { ...environmentOn(chain, 1500), PONTAGE_STORE: ServiceProcess.freshFile() }
        const { 2: body } = yield* X402Payment.bodies(chain, 7, "killed")
        const before = yield* income(chain)
        const first = yield* ServiceProcess.run(environment)
        yield* chain.setAutomine(false)
        const early = yield* pendingAt(askAt(yield* first.url), body)
        first.process.kill("SIGKILL")
        yield* first.exited
        yield* chain.setAutomine(true)
        yield* chain.mine()
        const ask = askAt(
          yield* (yield* ServiceProcess.run({ ...environment, PONTAGE_SETTLE_TIMEOUT_MS: "25000" })).url
        )
        const { transaction } = yield* decodeSettled(yield* ask("/settle", body))
        assert.strictEqual(transaction, early.transaction)
        assert.deepInclude(yield* ask("/settle", body), { success: false, errorReason: used[2] })
        const after = { balance: before.balance + amount, transfers: before.transfers + 1 }
        assert.deepStrictEqual(yield* income(chain), after)
      }).pipe(Effect.scoped)
    )

    it.effect.each(versions)(
      "version %i: what is wrong with a payment is said in its words, and nothing moves",
      (version) =>
        Effect.gen(function* () {
          const chain = yield* EvmTestChain.EvmTestChain
          const { ask } = yield* start(chain)
          const { 1: first, 2: second } = yield* X402Payment.bodies(chain, 5, `wrong ${version}`)
          const before = yield* income(chain)
          const with1 = (change: object) => ({
            ...first,
            paymentRequirements: { ...first.paymentRequirements, ...change }
          })
          const with2 = (change: object) => {
            const offer = { ...second.paymentRequirements, ...change }
            return {
              ...second,
              paymentRequirements: offer,
              paymentPayload: { ...second.paymentPayload, accepted: offer }
            }
          }
          const forged = { signature: `0x${"1".repeat(130)}` }
          const { payload } = first.paymentPayload
          const elsewhere = { payTo: chain.accounts.stranger.address }
          const cases =
            version === 1
              ? ([
                  [with1({ maxAmountRequired: "10001" }), "invalid_exact_evm_payload_authorization_value"],
                  [with1(elsewhere), "invalid_exact_evm_payload_recipient_mismatch"],
                  [with1({ asset: chain.accounts.stranger.address }), "invalid_payment_requirements"],
                  [
                    { ...first, paymentPayload: { ...first.paymentPayload, payload: { ...payload, ...forged } } },
                    "invalid_exact_evm_payload_signature"
                  ],
                  [
                    {
                      ...first,
                      paymentPayload: { ...first.paymentPayload, network: "polygon" },
                      paymentRequirements: { ...first.paymentRequirements, network: "polygon" }
                    },
                    "invalid_network"
                  ]
                ] as const)
              : ([
                  [with2({ amount: "10001" }), "invalid_exact_evm_payload_authorization_value_mismatch"],
                  [with2(elsewhere), "invalid_exact_evm_recipient_mismatch"],
                  [with2({ asset: chain.accounts.stranger.address }), "invalid_payment_requirements"],
                  [
                    { ...second, paymentPayload: { ...second.paymentPayload, payload: { ...payload, ...forged } } },
                    "invalid_exact_evm_signature"
                  ],
                  [with2({ network: "eip155:137" }), "invalid_network"]
                ] as const)
          for (const [sent, word] of cases) {
            assert.deepInclude(yield* ask("/verify", sent), { isValid: false, invalidReason: word })
            assert.deepInclude(yield* ask("/settle", sent), { success: false, errorReason: word, transaction: "" })
          }
          assert.deepStrictEqual(yield* income(chain), before)
          assert.deepInclude(yield* ask("/verify", version === 1 ? first : second), { isValid: true })
        }).pipe(Effect.scoped)
    )

    it.effect("a payer without money is told so in either version", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const { ask } = yield* start(chain)
        const { accounts, client, token } = chain
        const payer = accounts.payers[6]
        assert.isDefined(payer)
        const bodies = yield* X402Payment.bodies(chain, 6, "poor")
        yield* chain.setBalance(payer.address, 10n ** 18n)
        const all = yield* chain.balanceOf(payer.address)
        yield* Effect.promise(async () => {
          const abi = [
            {
              type: "function",
              name: "transfer",
              stateMutability: "nonpayable",
              inputs: [
                { name: "to", type: "address" },
                { name: "value", type: "uint256" }
              ],
              outputs: [{ name: "", type: "bool" }]
            }
          ] as const
          const call = { address: token.address, abi, functionName: "transfer", account: payer } as const
          const hash = await client.writeContract({ ...call, args: [accounts.stranger.address, all] })
          await client.waitForTransactionReceipt({ hash, pollingInterval: 20 })
        })
        assert.deepInclude(yield* ask("/verify", bodies[1]), { invalidReason: "insufficient_funds" })
        assert.deepInclude(yield* ask("/settle", bodies[2]), { errorReason: "invalid_exact_evm_insufficient_balance" })
      }).pipe(Effect.scoped)
    )

    it.effect("find their kinds among what is supported, and ours finds its own", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const { client, url } = yield* start(chain)
        const answer = yield* Effect.promise(async () => (await fetch(`${url}/supported`)).json())
        const { kinds } = yield* decodeKinds(answer)
        assert.deepStrictEqual(kinds, [
          { protocolVersion: 2, x402Version: 2, scheme: "exact", network },
          { x402Version: 1, scheme: "exact", network: name }
        ])
        assert.deepStrictEqual((yield* client.supported).kinds, [{ protocolVersion: 2, scheme: "exact", network }])
      }).pipe(Effect.scoped)
    )
  })
})
