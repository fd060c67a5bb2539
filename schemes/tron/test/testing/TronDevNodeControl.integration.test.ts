import { assert, describe, it, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import * as NodeTransaction from "../../src/testing/node/NodeTransaction.ts"
import * as TronDevNode from "../../src/testing/TronDevNode.ts"
import { TronTestChain } from "../../src/testing/TronTestChain.ts"
import * as TestChain from "../../src/testing/TronTestChain.ts"
import * as Wallet from "./TronWebWallet.ts"

const headOf = Effect.fnUntraced(function* (rpcUrl: string) {
  const wallet = Wallet.make(rpcUrl, { address: "", privateKey: "01".repeat(32) })
  const { block_header: header, blockID } = yield* Effect.promise(() => wallet.trx.getCurrentBlock())
  return { number: header.raw_data.number, id: blockID, time: header.raw_data.timestamp }
})

const one = (to: string) => ({ contract: "TransferContract", fields: { to_address: to, amount: 5 } }) as const

layer(TestChain.layer({ startTime: Wallet.startTime, mining: "manual" }))("the controls", (it) => {
  it.effect("make blocks by `mine`, in the chain's time", () =>
    Effect.gen(function* () {
      const { advance, mine, now, rpcUrl, setTime } = yield* TronTestChain
      const before = yield* headOf(rpcUrl)
      assert.strictEqual(before.number, 1)
      yield* advance(60_000)
      yield* mine(3)
      const after = yield* headOf(rpcUrl)
      assert.strictEqual(after.number, 4)
      assert.isAtLeast(after.time, Wallet.startTime + 60_000)
      yield* setTime(Wallet.startTime + 3_600_000)
      assert.strictEqual(yield* now, Wallet.startTime + 3_600_000)
      yield* mine()
      assert.strictEqual((yield* headOf(rpcUrl)).time, Wallet.startTime + 3_600_000)
    })
  )

  it.effect("keep a transaction pending, drop it, and let it be submitted again", () =>
    Effect.gen(function* () {
      const { accounts, balance, drop, mine, rpcUrl, sign, waiting } = yield* TronTestChain
      const { stranger, deployer } = accounts
      const transaction = yield* sign(one(deployer.address), stranger)
      const before = yield* balance(deployer.address)
      const send = Wallet.broadcastHex(rpcUrl, NodeTransaction.toHex(transaction))
      assert.strictEqual((yield* send).code, "SUCCESS")
      assert.deepStrictEqual(yield* waiting, [transaction.id])
      assert.strictEqual(yield* balance(deployer.address), before + 5n)
      assert.deepStrictEqual(yield* Wallet.information(rpcUrl, transaction.id), {})
      assert.isTrue(yield* drop(transaction.id))
      assert.isFalse(yield* drop(transaction.id))
      assert.strictEqual(yield* balance(deployer.address), before)
      yield* mine()
      assert.deepStrictEqual(yield* Wallet.information(rpcUrl, transaction.id), {})
      assert.strictEqual((yield* send).code, "SUCCESS")
      yield* mine()
      assert.strictEqual((yield* Wallet.information(rpcUrl, transaction.id)).id, transaction.id)
    })
  )

  it.effect("leave expired transactions out of a block", () =>
    Effect.gen(function* () {
      const { accounts, advance, balance, mine, rpcUrl, submit, waiting } = yield* TronTestChain
      const { stranger, deployer } = accounts
      const before = yield* balance(deployer.address)
      const id = yield* submit(one(deployer.address), stranger)
      yield* advance(61_000)
      yield* mine()
      assert.deepStrictEqual(yield* waiting, [])
      assert.deepStrictEqual(yield* Wallet.information(rpcUrl, id), {})
      assert.strictEqual(yield* balance(deployer.address), before)
    })
  )

  it.effect("replace blocks: their transactions are dropped or pending again, and funds given by the test stay", () =>
    Effect.gen(function* () {
      const { accounts, balance, fund, mine, reorganise, rpcUrl, send, waiting } = yield* TronTestChain
      const { stranger, deployer, payee } = accounts
      const start = yield* balance(deployer.address)
      const first = yield* send(one(deployer.address), stranger)
      yield* fund(payee.address, 77n)
      const second = yield* send(one(deployer.address), stranger)
      const head = yield* headOf(rpcUrl)
      assert.strictEqual(yield* balance(deployer.address), start + 10n)

      yield* reorganise(1, "pending")
      const other = yield* headOf(rpcUrl)
      assert.strictEqual(other.number, head.number)
      assert.strictEqual(other.time, head.time)
      assert.notStrictEqual(other.id, head.id)
      assert.deepStrictEqual(yield* waiting, [second.transaction.id])
      assert.deepStrictEqual(yield* Wallet.information(rpcUrl, second.transaction.id), {})
      yield* mine()
      assert.strictEqual((yield* Wallet.information(rpcUrl, second.transaction.id)).id, second.transaction.id)

      yield* reorganise(3)
      assert.deepStrictEqual(yield* waiting, [])
      for (const { transaction } of [first, second]) {
        assert.deepStrictEqual(yield* Wallet.ask(rpcUrl, "wallet/gettransactionbyid", { value: transaction.id }), {})
      }
      assert.strictEqual(yield* balance(deployer.address), start)
      assert.strictEqual(yield* balance(payee.address), 77n)
    })
  )

  it.effect("plant faults: a rejection of a transaction that is rejected, or accepted all the same", () =>
    Effect.gen(function* () {
      const { accounts, heal, plant, rpcUrl, sign, waiting } = yield* TronTestChain
      const transaction = yield* sign(one(accounts.deployer.address), accounts.stranger)
      const send = Wallet.broadcastHex(rpcUrl, NodeTransaction.toHex(transaction))
      yield* plant({ _tag: "Refuse", code: "SERVER_BUSY", message: "Server busy." }, { times: 1 })
      assert.deepInclude(yield* send, { result: false, code: "SERVER_BUSY", message: "Server busy." })
      assert.deepStrictEqual(yield* waiting, [])
      yield* plant({ _tag: "Refuse", code: "OTHER_ERROR", isTaken: true })
      assert.deepInclude(yield* send, { result: false, code: "OTHER_ERROR" })
      assert.deepStrictEqual(yield* waiting, [transaction.id])
      yield* heal
      assert.strictEqual((yield* send).code, "DUP_TRANSACTION_ERROR")
    })
  )

  it.effect("plant faults in the transport of a response", () =>
    Effect.gen(function* () {
      const { heal, plant, requests, rpcUrl } = yield* TronTestChain
      const path = { path: "getnowblock" }
      const get = (name: string) =>
        Effect.promise((signal) => fetch(`${rpcUrl}/wallet/${name}`, { signal }).catch(() => undefined))
      yield* plant({ _tag: "Status", status: 503 }, path)
      assert.strictEqual((yield* get("getnowblock"))?.status, 503)
      assert.strictEqual((yield* get("getnodeinfo"))?.status, 200)
      yield* heal
      yield* plant({ _tag: "Text", body: "<html>" }, path)
      const response = yield* get("getnowblock")
      assert.strictEqual(yield* Effect.promise(async () => response?.text()), "<html>")
      yield* heal
      yield* plant({ _tag: "Disconnect" }, path)
      assert.isUndefined(yield* get("getnowblock"))
      yield* heal
      yield* plant({ _tag: "Hang" }, path)
      const before = (yield* requests).get("/wallet/getnowblock") ?? 0
      const controller = new AbortController()
      const hanging = fetch(`${rpcUrl}/wallet/getnowblock`, { signal: controller.signal }).catch(() => "aborted")
      yield* get("getnodeinfo")
      controller.abort()
      assert.strictEqual(yield* Effect.promise(async () => hanging), "aborted")
      yield* heal
      assert.strictEqual((yield* get("getnowblock"))?.status, 200)
      assert.isAtLeast((yield* requests).get("/wallet/getnowblock") ?? 0, before + 1)
    })
  )
})

describe("a local node", () => {
  it.effect("makes a block per interval, by the clock, until it is stopped", () =>
    Effect.gen(function* () {
      const { rpcUrl, setMining } = yield* TronDevNode.make({
        startTime: Wallet.startTime,
        mining: { everyMillis: 3_000 }
      })
      yield* TestClock.adjust("9 seconds")
      assert.deepInclude(yield* headOf(rpcUrl), { number: 4, time: Wallet.startTime + 9_000 })
      yield* setMining("manual")
      yield* TestClock.adjust("9 seconds")
      assert.strictEqual((yield* headOf(rpcUrl)).number, 4)
    }).pipe(Effect.scoped)
  )

  it.effect("ends with its scope, and reports that its port is taken", () =>
    Effect.gen(function* () {
      const { port, url } = yield* Effect.scoped(
        Effect.gen(function* () {
          const { rpcUrl } = yield* TronDevNode.make()
          const taken = Number(new URL(rpcUrl).port)
          const failure = yield* Effect.flip(TronDevNode.make({ port: taken }))
          assert.strictEqual(failure.message, `The node cannot listen on port ${taken}`)
          return { port: taken, url: rpcUrl }
        })
      )
      const gone = yield* Effect.promise(() => fetch(`${url}/wallet/getnowblock`).then(String, () => "gone"))
      assert.strictEqual(gone, "gone")
      assert.isAbove(port, 0)
    })
  )
})
