import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { TronWeb } from "tronweb"

import * as NodeTransaction from "../../src/testing/node/NodeTransaction.ts"
import type { TestAccount } from "../../src/testing/TronTestAccounts.ts"
import * as TronTestAccounts from "../../src/testing/TronTestAccounts.ts"
import { TronTestChain } from "../../src/testing/TronTestChain.ts"
import * as TestChain from "../../src/testing/TronTestChain.ts"
import * as Wallet from "./TronWebWallet.ts"

/** A signed transfer of the first payer, with one difference. */
const transfer = Effect.fnUntraced(function* (header: Readonly<Record<string, unknown>> = {}, from?: TestAccount) {
  const { accounts, rpcUrl, token } = yield* TronTestChain
  const payer = from ?? accounts.payers[0]
  const wallet = Wallet.make(rpcUrl, payer)
  const reference = yield* Effect.promise(() => wallet.trx.getCurrentRefBlockParams())
  const built = yield* Wallet.buildTransfer(wallet, token.address, accounts.payee.address, 1n, {
    txLocal: true,
    blockHeader: { ...reference, ...header }
  })
  return yield* Wallet.sign(wallet, built)
})

const refusal = Effect.fnUntraced(function* (bytes: string) {
  const { balanceOf, accounts, rpcUrl } = yield* TronTestChain
  const before = yield* balanceOf(accounts.payee.address)
  const { code, message, result, txid } = yield* Wallet.broadcastHex(rpcUrl, bytes)
  assert.isFalse(result)
  assert.strictEqual(yield* balanceOf(accounts.payee.address), before)
  assert.deepStrictEqual(yield* Wallet.information(rpcUrl, txid), {})
  return { code, message }
})

layer(TestChain.layer({ startTime: Wallet.startTime, pendingLimit: 3 }))("the node refuses", (it) => {
  it.effect("bytes that were changed after they were signed", () =>
    Effect.gen(function* () {
      const bytes = Wallet.bytesOf(yield* transfer())
      const amount = "1".padStart(64, "0")
      assert.include(bytes, amount)
      const { code, message } = yield* refusal(bytes.replace(amount, "2".padStart(64, "0")))
      assert.strictEqual(code, "SIGERROR")
      assert.match(
        message,
        /^Validate signature error: .* is signed by T\w{33} but it is not contained of permission\.$/
      )
    })
  )

  it.effect("JSON that was changed after it was signed", () =>
    Effect.gen(function* () {
      const { rpcUrl } = yield* TronTestChain
      const signed = yield* transfer()
      const text = JSON.stringify(signed).replaceAll("1".padStart(64, "0"), "2".padStart(64, "0"))
      const changed = { ...(JSON.parse(text) as object), raw_data_hex: signed.raw_data_hex, txID: signed.txID }
      const response = yield* Wallet.ask(rpcUrl, "wallet/broadcasttransaction", changed)
      assert.deepInclude(response as object, { code: "SIGERROR" })
      assert.notInclude(JSON.stringify(response), signed.txID)
    })
  )

  it.effect("a transaction without signature, with a short one, and with the same one twice", () =>
    Effect.gen(function* () {
      const signed = yield* transfer()
      const [signature = ""] = signed.signature
      const none = yield* refusal(Wallet.bytesOf({ ...signed, signature: [] }))
      assert.deepStrictEqual(none, { code: "SIGERROR", message: "Validate signature error: miss sig or contract" })
      const short = yield* refusal(Wallet.bytesOf({ ...signed, signature: [signature.slice(0, -2)] }))
      assert.deepStrictEqual(short, { code: "SIGERROR", message: "Validate signature error: Signature size is 64" })
      const twice = yield* refusal(Wallet.bytesOf({ ...signed, signature: [signature, signature] }))
      assert.match(twice.message, /Signature count is 2 more than key counts of permission : 1$/)
    })
  )

  it.effect("a reference to a block of another chain, or to none", () =>
    Effect.gen(function* () {
      const foreign = yield* refusal(Wallet.bytesOf(yield* transfer({ ref_block_hash: "ab".repeat(8) })))
      assert.deepStrictEqual(foreign, { code: "TAPOS_ERROR", message: "Tapos check error." })
      const ahead = yield* refusal(Wallet.bytesOf(yield* transfer({ ref_block_bytes: "7fff" })))
      assert.strictEqual(ahead.code, "TAPOS_ERROR")
    })
  )

  it.effect("a transaction that is expired, expires before the next slot, or is valid for more than a day", () =>
    Effect.gen(function* () {
      const { now } = yield* TronTestChain
      const at = yield* now
      const expired = { code: "TRANSACTION_EXPIRATION_ERROR", message: "Transaction expired" }
      for (const expiration of [at - 1, at + 2_000, at + 86_500_000]) {
        assert.deepStrictEqual(yield* refusal(Wallet.bytesOf(yield* transfer({ expiration }))), expired)
      }
    })
  )

  it.effect("the same transaction again, pending or in a block", () =>
    Effect.gen(function* () {
      const { mine, rpcUrl, setMining } = yield* TronTestChain
      yield* setMining("manual")
      const bytes = Wallet.bytesOf(yield* transfer({ timestamp: 4711 }))
      assert.strictEqual((yield* Wallet.broadcastHex(rpcUrl, bytes)).code, "SUCCESS")
      assert.deepInclude(yield* Wallet.broadcastHex(rpcUrl, bytes), {
        result: false,
        code: "DUP_TRANSACTION_ERROR",
        message: "Dup transaction."
      })
      yield* mine()
      assert.strictEqual((yield* Wallet.broadcastHex(rpcUrl, bytes)).code, "DUP_TRANSACTION_ERROR")
      yield* setMining("instant")
    })
  )

  it.effect("with the cache of ids, a valid copy of a rejected transaction", () =>
    Effect.gen(function* () {
      const { advance, rpcUrl, setIdCache } = yield* TronTestChain
      yield* setIdCache(true)
      const signed = yield* transfer({ timestamp: 4712 })
      const [signature = ""] = signed.signature
      const poison = { ...signed, signature: [`${signature.slice(0, -6)}00${signature.slice(-4)}`] }
      assert.strictEqual((yield* Wallet.broadcastHex(rpcUrl, Wallet.bytesOf(poison))).code, "SIGERROR")
      const copy = yield* Wallet.broadcastHex(rpcUrl, Wallet.bytesOf(signed))
      assert.deepInclude(copy, { code: "DUP_TRANSACTION_ERROR", message: "Transaction already exists." })
      assert.deepStrictEqual(yield* Wallet.information(rpcUrl, signed.txID), {})
      yield* setIdCache(false)
      assert.strictEqual((yield* Wallet.broadcastHex(rpcUrl, Wallet.bytesOf(signed))).code, "SUCCESS")
      yield* advance(1)
    })
  )

  it.effect("an owner who does not exist, or who cannot pay for the bandwidth", () =>
    Effect.gen(function* () {
      const { accounts, drain, fund, rpcUrl } = yield* TronTestChain
      const absent = yield* refusal(Wallet.bytesOf(yield* transfer({}, TronTestAccounts.named("an absent account"))))
      assert.strictEqual(absent.code, "CONTRACT_VALIDATE_ERROR")
      assert.match(absent.message, /^Contract validate error : account \[T\w{33}\] does not exist$/)

      const [, , poor = accounts.stranger] = accounts.payers
      const once = yield* Wallet.broadcastHex(rpcUrl, Wallet.bytesOf(yield* transfer({ timestamp: 1 }, poor)))
      assert.strictEqual(once.code, "SUCCESS")
      yield* drain(poor.address)
      assert.deepStrictEqual(yield* refusal(Wallet.bytesOf(yield* transfer({ timestamp: 2 }, poor))), {
        code: "BANDWITH_ERROR",
        message: "Account resource insufficient error."
      })
      yield* fund(poor.address, 100_000_000n)
      const again = yield* Wallet.broadcastHex(rpcUrl, Wallet.bytesOf(yield* transfer({ timestamp: 2 }, poor)))
      assert.strictEqual(again.code, "SUCCESS")
    })
  )

  it.effect("the call of a missing contract, and a fee limit above the chain's", () =>
    Effect.gen(function* () {
      const { accounts, sign, token } = yield* TronTestChain
      const [payer] = accounts.payers
      const call = (contract: string, feeLimit: bigint) =>
        Effect.map(
          sign(
            { contract: "TriggerSmartContract", fields: { contract_address: contract, data: "00000000" }, feeLimit },
            payer
          ),
          NodeTransaction.toHex
        )
      const missing = yield* refusal(yield* call(accounts.payee.address, 1_000_000n))
      assert.match(missing.message, /No contract or not a smart contract$/)
      const greedy = yield* refusal(yield* call(token.address, 15_000_000_001n))
      assert.match(greedy.message, /feeLimit must be >= 0 and <= 15000000000$/)
    })
  )

  it.effect("too many transactions at once", () =>
    Effect.gen(function* () {
      const { accounts, drop, mine, rpcUrl, setMining, sign, submit, waiting } = yield* TronTestChain
      yield* setMining("manual")
      const sending = {
        contract: "TransferContract",
        fields: { to_address: accounts.deployer.address, amount: 1 }
      } as const
      const ids = yield* Effect.forEach(Array.from({ length: 3 }), () => submit(sending, accounts.stranger))
      assert.strictEqual(new Set(ids).size, 3)
      const more = NodeTransaction.toHex(yield* sign(sending, accounts.stranger))
      assert.deepInclude(yield* Wallet.broadcastHex(rpcUrl, more), { code: "SERVER_BUSY", message: "Server busy." })
      assert.isTrue(yield* drop(ids[0] ?? ""))
      assert.strictEqual((yield* waiting).length, 2)
      yield* mine()
      assert.deepStrictEqual(yield* waiting, [])
      yield* setMining("instant")
    })
  )
})

layer(TestChain.layer({ startTime: Wallet.startTime }))("what the node says of senseless requests", (it) => {
  const cases: ReadonlyArray<readonly [string, string, string]> = [
    ["bytes that are none", "wallet/broadcasthex", JSON.stringify({ transaction: "zz" })],
    ["bytes that are cut off", "wallet/broadcasthex", JSON.stringify({ transaction: "0a05" })],
    ["no bytes", "wallet/broadcasthex", "{}"],
    ["no JSON", "wallet/broadcasthex", "{"],
    ["a list", "wallet/broadcasttransaction", "[]"],
    ["no transaction", "wallet/broadcasttransaction", JSON.stringify({ raw_data: 1 })],
    [
      "an unknown contract",
      "wallet/broadcasttransaction",
      JSON.stringify({ raw_data: { contract: [{ type: "Vote", parameter: {} }] } })
    ],
    ["an address that is a number", "wallet/getaccount", JSON.stringify({ address: 5 })],
    [
      "a fee limit that is not a whole number",
      "wallet/triggersmartcontract",
      JSON.stringify({ fee_limit: 0.5, owner_address: "", contract_address: "" })
    ],
    ["a depth of objects", "wallet/broadcasttransaction", `${'{"raw_data":'.repeat(5_000)}1${"}".repeat(5_000)}`]
  ]
  for (const [name, path, body] of cases) {
    it.effect(`${name}, and goes on`, () =>
      Effect.gen(function* () {
        const { rpcUrl } = yield* TronTestChain
        const response = yield* Effect.promise(() => fetch(`${rpcUrl}/${path}`, { method: "POST", body }))
        assert.strictEqual(response.status, 200)
        const json = yield* Effect.promise(async (): Promise<unknown> => response.json())
        assert.hasAllKeys(json as object, ["Error"])
        assert.property(yield* Wallet.ask(rpcUrl, "wallet/getnowblock"), "blockID")
      })
    )
  }

  it.effect("an endless body", () =>
    Effect.gen(function* () {
      const { rpcUrl } = yield* TronTestChain
      const body = "x".repeat(1_048_577)
      const response = yield* Effect.promise(() => fetch(`${rpcUrl}/wallet/broadcasthex`, { method: "POST", body }))
      assert.strictEqual(response.status, 413)
    })
  )

  it.effect("a path that is not served", () =>
    Effect.gen(function* () {
      const { rpcUrl } = yield* TronTestChain
      for (const path of ["wallet/constructor", "wallet/getaccount/x", "admin/mine", "", "/", "/:/"]) {
        const response = yield* Effect.promise(() => fetch(`${rpcUrl}/${path}`))
        assert.strictEqual(response.status, 404, path)
      }
      assert.isTrue(TronWeb.isAddress((yield* TronTestChain).token.address))
    })
  )
})
