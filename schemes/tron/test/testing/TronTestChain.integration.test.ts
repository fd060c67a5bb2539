import { assert, describe, it, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"

import { TronDollar } from "../../src/testing/artifacts/TronDollar.ts"
import { TronTestChain } from "../../src/testing/TronTestChain.ts"
import * as TestChain from "../../src/testing/TronTestChain.ts"
import * as Wallet from "./TronWebWallet.ts"

const transfer = "transfer(address,uint256)"

const word = (value: bigint) => value.toString(16).padStart(64, "0")

layer(TestChain.layer({ payers: 3 }))("the test chain", (it) => {
  it.effect("has its token at the same address in every run, and all accounts their funds", () =>
    Effect.gen(function* () {
      const { accounts, balance, balanceOf, network, rpcUrl, token } = yield* TronTestChain
      assert.strictEqual(token.address, "TTMj1Ld6hEc5bw98ywUzsfhXAhhn4KLQvb")
      assert.strictEqual(network, "tron:local")
      for (const { address } of accounts.payers) {
        assert.strictEqual(yield* balanceOf(address), 1_000_000_000n)
        assert.strictEqual(yield* balance(address), 1_000_000_000n)
      }
      assert.strictEqual(yield* balanceOf(accounts.payee.address), 0n)
      const account = { address: accounts.payee.address, visible: true }
      assert.deepStrictEqual(yield* Wallet.ask(rpcUrl, "wallet/getaccount", account), {})
    })
  )

  it.effect("calls, mints, deploys and lists transfers", () =>
    Effect.gen(function* () {
      const { accounts, balanceOf, call, deploy, mint, token, transfers } = yield* TronTestChain
      const [from] = accounts.payers
      const { block, transaction } = yield* call({
        from,
        signature: transfer,
        parameters: [accounts.payee.address, 25n]
      })
      yield* mint(accounts.payee.address, 5n)
      assert.strictEqual(yield* balanceOf(accounts.payee.address), 30n)
      const [first] = yield* transfers()
      assert.deepStrictEqual(first, {
        token: token.address,
        from: from.address,
        to: accounts.payee.address,
        value: 25n,
        blockNumber: block?.number ?? -1,
        transaction: transaction.id
      })
      const other = yield* deploy(TronDollar)
      assert.notStrictEqual(other, token.address)
      yield* mint(from.address, 1n, other)
      assert.strictEqual(yield* balanceOf(from.address, other), 1n)
    })
  )

  it.effect("dies on a test's mistake", () =>
    Effect.gen(function* () {
      const { accounts, call } = yield* TronTestChain
      const mistaken = call({ from: accounts.stranger, signature: "pause()" })
      const exit = yield* Effect.exit(mistaken)
      assert.strictEqual(exit._tag, "Failure")
    })
  )
})

layer(TestChain.layer({ payers: 2 }))("the token", (it) => {
  const tried = Effect.fnUntraced(function* (parameters: ReadonlyArray<bigint>) {
    const { accounts, send, token } = yield* TronTestChain
    const [payer] = accounts.payers
    const data = `a9059cbb${parameters.map(word).join("")}`
    const fields = { contract_address: token.address, data }
    const { receipt } = yield* send({ contract: "TriggerSmartContract", fields }, payer)
    return receipt.call
  })

  it.effect("can be paused, and refuses blacklisted accounts", () =>
    Effect.gen(function* () {
      const { accounts, call } = yield* TronTestChain
      const [payer] = accounts.payers
      yield* call({ signature: "pause()" })
      assert.strictEqual((yield* tried([5n, 1n]))?.ending, "REVERT")
      yield* call({ signature: "unpause()" })
      assert.strictEqual((yield* tried([5n, 1n]))?.ending, "SUCCESS")
      yield* call({ signature: "addBlackList(address)", parameters: [payer.address] })
      assert.strictEqual((yield* tried([5n, 1n]))?.ending, "REVERT")
      yield* call({ signature: "removeBlackList(address)", parameters: [payer.address] })
      assert.strictEqual((yield* tried([5n, 1n]))?.ending, "SUCCESS")
    })
  )

  it.effect("takes a fee from a transfer if set, and logs two events then", () =>
    Effect.gen(function* () {
      const { accounts, balanceOf, call, transfers } = yield* TronTestChain
      yield* call({ signature: "setParams(uint256,uint256)", parameters: [1_000n, 50n] })
      const before = yield* balanceOf(accounts.deployer.address)
      assert.strictEqual((yield* tried([6n, 100n]))?.logs.length, 2)
      assert.strictEqual((yield* balanceOf(accounts.deployer.address)) - before, 10n)
      const values = (yield* transfers()).slice(-2).map(({ value }) => value)
      assert.deepStrictEqual(values, [90n, 10n])
    })
  )

  it.effect("returns false on success", () =>
    Effect.gen(function* () {
      const receipt = yield* tried([7n, 1n])
      assert.strictEqual(receipt?.ending, "SUCCESS")
      assert.strictEqual(receipt?.output, "00".repeat(32))
    })
  )
})

describe("a payer without TRX", () => {
  it.effect("has tokens and no account, so it can sign but not pay", () =>
    Effect.gen(function* () {
      const { accounts, balanceOf, rpcUrl, sign, token } = yield* TestChain.make({ payers: 1, payerSun: 0n })
      const [payer] = accounts.payers
      assert.strictEqual(yield* balanceOf(payer.address), 1_000_000_000n)
      const fields = {
        contract_address: token.address,
        data: `a9059cbb${"05".padStart(64, "0")}${"1".padStart(64, "0")}`
      }
      const { rawHex, signatures } = yield* sign({ contract: "TriggerSmartContract", fields }, payer)
      const bytes = Wallet.bytesOf({ raw_data_hex: rawHex, signature: signatures })
      const { code, message } = yield* Wallet.broadcastHex(rpcUrl, bytes)
      assert.strictEqual(code, "CONTRACT_VALIDATE_ERROR")
      assert.match(message, /does not exist$/)
    }).pipe(Effect.scoped)
  )
})
