/** Many payments in one transaction: the composition of batches, their cost, and the isolation of their payments. */
import { assert, describe, layer } from "@effect/vitest"
import type { SchemeFacilitator } from "@pontage/core"
import * as Effect from "effect/Effect"
import { encodeFunctionData, parseTransaction } from "viem"

import { batchSettlerAddress, deployBatchSettler } from "../../src/index.ts"
import * as EvmAddress from "../../src/primitives/EvmAddress.ts"
import * as EvmHex from "../../src/primitives/EvmHex.ts"
import * as BatchSettling from "../../src/sending/BatchSettling.ts"
import { DollarToken, Erc1271Wallet, EvmTestChain } from "../../src/testing/index.ts"
import * as Batch from "../EvmTestBatch.ts"
import * as Payment from "../EvmTestPayment.ts"

const chain = EvmTestChain.EvmTestChain

/** The recipient of a transaction. */
const targetOf = (bytes: string) => parseTransaction(`0x02${bytes.slice(4)}`).to

const start = (batches: Parameters<typeof Payment.scheme>[1] & object) =>
  Effect.flatMap(chain, (one) =>
    Effect.match(Payment.scheme(one, batches), {
      onSuccess: () => "started",
      onFailure: ({ _tag, message }) => `${_tag}: ${message}`
    })
  )

/** A contract account with money, owned by the first payer. */
const wallet = Effect.gen(function* () {
  const { accounts, deploy, mint } = yield* chain
  const address = yield* deploy(Erc1271Wallet, [accounts.payers[0].address])
  yield* mint(address, 1_000_000n)
  return address
})

const readBy = <Payload>(
  schemeFacilitator: SchemeFacilitator<Payload>,
  place: number,
  deviation: Payment.Deviation = {}
) =>
  Effect.gen(function* () {
    const { request } = yield* Batch.signedBy(yield* Batch.payerAt(place), deviation)
    return yield* Payment.read(schemeFacilitator, request)
  })

describe("the batch settler", () => {
  layer(EvmTestChain.layer({ payers: 101 }), { excludeTestServices: true })((it) => {
    it.effect("is deployed at its address, once", () =>
      Effect.gen(function* () {
        const { accounts, client, request, rpcUrl } = yield* chain
        const sent = Effect.promise(() => client.getTransactionCount({ address: accounts.stranger.address }))
        const deploy = deployBatchSettler({ signer: accounts.stranger, rpcUrl })
        const before = yield* sent
        assert.strictEqual(yield* deploy, batchSettlerAddress)
        assert.strictEqual(yield* deploy, batchSettlerAddress)
        assert.strictEqual((yield* sent) - before, 1)
        assert.notStrictEqual(yield* request("eth_getCode", [batchSettlerAddress, "latest"]), "0x")
      })
    )

    it.effect("is not deployed where its deployer is missing, nor at any price", () =>
      Effect.gen(function* () {
        const { accounts, request, rpcUrl, revert, setCode, snapshot } = yield* chain
        const before = yield* snapshot
        yield* setCode(EvmAddress.fromTail(EvmHex.fromTrusted(batchSettlerAddress)), "0x")
        const signer = accounts.stranger
        const tooDear = yield* Effect.flip(deployBatchSettler({ signer, rpcUrl, maxFeePerGas: 1n }))
        assert.match(`${tooDear._tag} ${tooDear.message}`, /^Misconfigured .*maxFeePerGas/)
        yield* setCode("0x4e59b44847b379578588920cA78FbF26c0B4956C", "0x")
        const missing = yield* Effect.flip(deployBatchSettler({ signer, rpcUrl }))
        assert.match(`${missing._tag} ${missing.message}`, /^Misconfigured .*no contract at 0x4e59/)
        assert.strictEqual(yield* request("eth_getCode", [batchSettlerAddress, "latest"]), "0x")
        yield* revert(before)
      })
    )

    it.effect("is checked when a facilitator starts, and so are its options", () =>
      Effect.gen(function* () {
        const { token } = yield* chain
        const settler = yield* Batch.settler
        assert.strictEqual(yield* start({ batches: { settler } }), "started")
        assert.match(yield* start({ batches: { settler: token.address } }), /^Misconfigured: .*not that of the batch/)
        const nobody = "0x1111111111111111111111111111111111111111"
        assert.match(yield* start({ batches: { settler: nobody } }), /^Misconfigured: .*missing/)
        assert.match(yield* start({ batches: { settler: "0x12" } }), /^Misconfigured: .*not an address/)
        for (const maximum of [0, 1, 101, 2.5, Number.NaN]) {
          assert.match(yield* start({ batches: { settler, maximum } }), /^Misconfigured: .*batches.maximum/)
        }
        for (const maximumCost of [0n, -1n]) {
          assert.match(yield* start({ batches: { settler, maximumCost } }), /^Misconfigured: .*batches.maximumCost/)
        }
        for (const windowMillis of [-1, 60_001, Number.NaN]) {
          assert.match(yield* start({ batches: { settler, windowMillis } }), /^Misconfigured: .*windowMillis/)
        }
        for (const finalityDepth of [-1, 0.5]) {
          assert.match(yield* start({ finalityDepth }), /^Misconfigured: .*finalityDepth/)
        }
        assert.match(yield* start({ verifyWindowMillis: -1 }), /^Misconfigured: .*verifyWindowMillis/)
      })
    )

    it.effect("settles 50 payments by one transaction, each for at most 49 000 gas", () =>
      Effect.gen(function* () {
        const { accounts, balanceOf, client } = yield* chain
        const schemeFacilitator = yield* Batch.scheme()
        assert.deepStrictEqual(schemeFacilitator.batches, { maximum: 50, maximumCost: 10n ** 18n, windowMillis: 50 })
        // The payee has an account with the token from now on.
        yield* Payment.sendAlone(schemeFacilitator, ...(yield* alone(schemeFacilitator)))
        const fromBlock = (yield* Effect.promise(() => client.getBlockNumber())) + 1n
        const before = yield* balanceOf(accounts.payee.address)
        const signed = yield* Batch.payments(schemeFacilitator, 0, 60)
        const list = signed.map(({ payment }) => payment)
        const { count, prepared } = yield* Batch.prepare(schemeFacilitator, list)
        assert.strictEqual(count, 50)
        assert.strictEqual(prepared.cost, (prepared.fees?.maximum ?? 0n) * gasOf(prepared.bytes))
        assert.deepStrictEqual(yield* schemeFacilitator.submit(prepared), { _tag: "Accepted" })
        const { inclusion, observations } = yield* Batch.included(schemeFacilitator, list.slice(0, count), prepared)
        const receipt = yield* Batch.receiptOf(prepared.transaction)
        const block = { number: receipt.blockNumber, hash: receipt.blockHash }
        const settled = { _tag: "Settled", transaction: prepared.transaction, block, external: false } as const
        assert.lengthOf(observations, 50)
        for (const observation of observations) assert.deepEqual(observation, settled)
        const cost = receipt.gasUsed * receipt.effectiveGasPrice
        assert.deepStrictEqual(inclusion, { transaction: prepared.transaction, block, cost })
        assert.isAtMost(Number(inclusion.cost), Number(prepared.cost))
        assert.strictEqual(yield* balanceOf(accounts.payee.address), before + 500_000n)
        assert.deepStrictEqual(yield* Payment.statusesOf(accounts.signers[0].address, fromBlock), ["success"])
        assert.isAtMost(Number(receipt.gasUsed) / 50, 49_000)
        for (const { authorization } of signed.slice(50)) assert.strictEqual(yield* Payment.timesUsed(authorization), 0)
      })
    )

    it.effect("settles a hundred by one transaction", () =>
      Effect.gen(function* () {
        const schemeFacilitator = yield* Batch.scheme({ maximum: 100 })
        const list = (yield* Batch.payments(schemeFacilitator, 0, 101)).map(({ payment }) => payment)
        const { count, prepared } = yield* Batch.prepare(schemeFacilitator, list)
        assert.strictEqual(count, 100)
        yield* schemeFacilitator.submit(prepared)
        const { observations } = yield* Batch.included(schemeFacilitator, list.slice(0, count), prepared)
        assert.isTrue(observations.every(({ _tag }) => _tag === "Settled"))
      })
    )

    it.effect("takes the first payments that can be batched, and leaves a lone one a plain transfer", () =>
      Effect.gen(function* () {
        const { accounts, token } = yield* chain
        const schemeFacilitator = yield* Batch.scheme({ maximum: 4 })
        const [a, b, c, d, e] = yield* Effect.forEach([0, 1, 2, 3, 4], (place) => readBy(schemeFacilitator, place))
        const contract = yield* readBy(schemeFacilitator, 0, { from: yield* wallet })
        const stranger = yield* readBy(schemeFacilitator, 0, { signer: accounts.stranger })
        const huge = yield* readBy(schemeFacilitator, 5, { signed: { value: 2n ** 96n } })
        const late = yield* readBy(schemeFacilitator, 6, { signed: { validBefore: 2n ** 40n } })
        if (!a || !b || !c || !d || !e) return assert.fail("five payments were read")
        const settler = yield* Batch.settler
        for (const [name, list, expected, target] of [
          ["one", [a], 1, token.address],
          ["two", [a, b], 2, settler],
          ["more than there is room for", [a, b, c, d, e], 4, settler],
          ["a contract account's", [contract], 1, token.address],
          ["a contract account's first", [contract, a, b], 1, token.address],
          ["a contract account's behind one", [a, contract, b], 1, token.address],
          ["a contract account's behind two", [a, b, contract, c], 2, settler],
          ["one that does not verify behind two", [a, b, stranger, c], 2, settler],
          ["an amount that is too large", [huge, a, b], 1, token.address],
          ["a time that is too far", [a, late, b], 1, token.address]
        ] as const) {
          const { count, prepared } = yield* Batch.prepare(schemeFacilitator, list)
          assert.deepStrictEqual([name, count, targetOf(prepared.bytes)], [name, expected, target.toLowerCase()])
        }
        const error = yield* Effect.flip(Batch.prepare(schemeFacilitator, [stranger, a]))
        assert.strictEqual(error._tag, "Misconfigured")
        assert.strictEqual((yield* Effect.flip(Batch.prepare(schemeFacilitator, [])))._tag, "Misconfigured")
        const plain = yield* Payment.scheme(yield* chain)
        assert.isUndefined(plain.batches)
        assert.strictEqual((yield* Batch.prepare(plain, [yield* readBy(plain, 0), yield* readBy(plain, 1)])).count, 1)
      })
    )

    it.effect("takes no more payments than the transaction may cost, and the first in any case", () =>
      Effect.gen(function* () {
        const schemeFacilitator = yield* Batch.scheme()
        const list = yield* Effect.forEach([0, 1, 2, 3, 4], (place) => readBy(schemeFacilitator, place))
        const whole = yield* Batch.prepare(schemeFacilitator, list)
        const costs = [whole.prepared.cost, whole.prepared.cost - 1n, 1n]
        const prepared = yield* Effect.forEach(costs, (maximumCost) =>
          Batch.prepare(schemeFacilitator, list, { maximumCost })
        )
        assert.deepStrictEqual(
          prepared.map(({ count }) => count),
          [5, 4, 1]
        )
        assert.strictEqual(prepared[0]?.prepared.cost, whole.prepared.cost)
        assert.isBelow(Number(prepared[1]?.prepared.cost), Number(whole.prepared.cost))
      })
    )

    it.effect("of a signer with little money is as large as that pays for: all settle, and a node refuses none", () =>
      Effect.gen(function* () {
        const { accounts, client, setBalance } = yield* chain
        const [{ address }] = accounts.signers
        const owned = yield* Effect.promise(() => client.getBalance({ address }))
        const fromBlock = (yield* Effect.promise(() => client.getBlockNumber())) + 1n
        const schemeFacilitator = yield* Batch.scheme()
        const eight = yield* Effect.forEach([0, 1, 2, 3, 4, 5, 6, 7], (place) => readBy(schemeFacilitator, place))
        yield* setBalance(address, (yield* Batch.prepare(schemeFacilitator, eight)).prepared.cost)
        const sent: Array<string> = []
        const onRequest = (method: string) => void (method === "eth_sendRawTransaction" && sent.push(method))
        const facilitator = yield* Payment.facilitator({ batches: { settler: yield* Batch.settler }, onRequest })
        const signed = yield* Effect.forEach(
          Array.from({ length: 20 }, (_, place) => place),
          (place) => Effect.flatMap(Batch.payerAt(place), Batch.signedBy)
        )
        const ends = yield* Effect.forEach(
          signed,
          ({ request }, index) => facilitator.settle(request, Payment.claim(`little${index}`)),
          { concurrency: "unbounded" }
        )
        yield* setBalance(address, owned)
        assert.isTrue(ends.every(({ status }) => status === "included"))
        for (const { authorization } of signed) assert.strictEqual(yield* Payment.timesUsed(authorization), 1)
        const statuses = yield* Payment.statusesOf(address, fromBlock)
        assert.isTrue(statuses.every((status) => status === "success"))
        assert.isAtLeast(statuses.length, 3)
        assert.strictEqual(sent.length, statuses.length)
      })
    )

    it.effect("settles payments in several tokens together", () =>
      Effect.gen(function* () {
        const { accounts, balanceOf, deploy, send, token } = yield* chain
        const other = yield* deploy(DollarToken, [token.name, token.symbol, token.version])
        for (const place of [2, 3]) {
          const { address } = yield* Batch.payerAt(place)
          const args = [address, 1_000_000n] as const
          yield* send({ to: other, data: encodeFunctionData({ abi: DollarToken.abi, functionName: "mint", args }) })
        }
        const schemeFacilitator = yield* Batch.scheme({ tokens: [other] })
        const list = yield* Effect.forEach([0, 1, 2, 3, 4], (place) =>
          readBy(schemeFacilitator, place, place === 2 || place === 3 ? { token: other } : {})
        )
        const { count, prepared } = yield* Batch.prepare(schemeFacilitator, list)
        assert.strictEqual(count, 5)
        yield* schemeFacilitator.submit(prepared)
        const { observations } = yield* Batch.included(schemeFacilitator, list, prepared)
        assert.isTrue(observations.every(({ _tag }) => _tag === "Settled"))
        assert.strictEqual(yield* balanceOf(accounts.payee.address, other), 20_000n)
      })
    )

    it.effect("settles several payments of one payer together", () =>
      Effect.gen(function* () {
        const schemeFacilitator = yield* Batch.scheme()
        const list = yield* Effect.forEach([7, 7, 7], (place) => readBy(schemeFacilitator, place))
        const { count, prepared } = yield* Batch.prepare(schemeFacilitator, list)
        assert.strictEqual(count, 3)
        yield* schemeFacilitator.submit(prepared)
        const { observations } = yield* Batch.included(schemeFacilitator, list, prepared)
        assert.deepStrictEqual(yield* Effect.forEach(observations, Batch.word), ["Settled", "Settled", "Settled"])
      })
    )

    it.effect("reverts as a whole where its bytes are cut, and takes no coin", () =>
      Effect.gen(function* () {
        const { accounts, send } = yield* chain
        const schemeFacilitator = yield* Batch.scheme()
        const signed = yield* Batch.payments(schemeFacilitator, 8, 10)
        const transfers = yield* Effect.forEach(signed, ({ authorization }, index) =>
          Effect.gen(function* () {
            const signer = yield* Batch.payerAt(8 + index)
            const signature = yield* Payment.sign(authorization, { signer })
            return { token: Payment.parsed((yield* chain).token.address), authorization, signature }
          })
        )
        const { data, to } = BatchSettling.toCall(Payment.parsed(yield* Batch.settler), transfers)
        const from = accounts.stranger.address
        // The length of the bytes is the second word behind the selector.
        const shorter = 2 * 158 + 21 - 1
        const cut: EvmHex.Hex = `${data.slice(0, 74)}${EvmHex.toWord(shorter)}${data.slice(138)}` as EvmHex.Hex
        assert.strictEqual((yield* send({ from, to, data: cut })).status, "reverted")
        assert.strictEqual((yield* send({ from, to, data, value: 1n })).status, "reverted")
        for (const { authorization } of signed) assert.strictEqual(yield* Payment.timesUsed(authorization), 0)
        assert.strictEqual((yield* send({ from, to, data })).status, "success")
        for (const { authorization } of signed) assert.strictEqual(yield* Payment.timesUsed(authorization), 1)
      })
    )
  })
})

const gasOf = (bytes: string): bigint => parseTransaction(`0x02${bytes.slice(4)}`).gas ?? 0n

const alone = Effect.fnUntraced(function* <Payload>(schemeFacilitator: SchemeFacilitator<Payload>) {
  const payment = yield* readBy(schemeFacilitator, 0)
  return [payment, (yield* Batch.prepare(schemeFacilitator, [payment])).prepared] as const
})
