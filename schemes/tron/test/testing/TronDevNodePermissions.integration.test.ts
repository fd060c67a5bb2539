import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"

import type { TestAccount } from "../../src/testing/TronTestAccounts.ts"
import { TronTestChain } from "../../src/testing/TronTestChain.ts"
import * as TestChain from "../../src/testing/TronTestChain.ts"
import * as Wallet from "./TronWebWallet.ts"

const everyday = "7fff1fc0033efb0f000000000000000000000000000000000000000000000000"

/** Gives an account's permissions to other keys, by tronweb. */
const handOver = Effect.fnUntraced(function* (from: TestAccount, to: ReadonlyArray<TestAccount>, threshold: number) {
  const { rpcUrl } = yield* TronTestChain
  const wallet = Wallet.make(rpcUrl, from)
  const keys = to.map(({ address }) => ({ address, weight: 1 }))
  const built = yield* Effect.promise(() =>
    wallet.transactionBuilder.updateAccountPermissions(
      from.address,
      { type: 0, permission_name: "owner", threshold, keys },
      undefined,
      [{ type: 2, permission_name: "active", threshold, operations: everyday, keys }]
    )
  )
  const signed = yield* Wallet.sign(wallet, built)
  const sent = yield* Effect.promise(() => wallet.trx.sendRawTransaction(signed))
  assert.isTrue(sent.result)
  return yield* Wallet.information(rpcUrl, signed.txID)
})

const transferFrom = Effect.fnUntraced(function* (owner: TestAccount, permissionId?: number) {
  const { accounts, rpcUrl, token } = yield* TronTestChain
  const wallet = Wallet.make(rpcUrl, owner)
  const options = permissionId === undefined ? {} : { permissionId }
  const built = yield* Wallet.buildTransfer(wallet, token.address, accounts.stranger.address, 1n, options)
  return { wallet, built }
})

layer(TestChain.layer({ startTime: Wallet.startTime }))("permissions", (it) => {
  it.effect("given to another key: the old key signs no more, though the address is still its own", () =>
    Effect.gen(function* () {
      const { accounts, fund, rpcUrl } = yield* TronTestChain
      const [payer, heir = accounts.stranger] = accounts.payers
      yield* fund(payer.address, 200_000_000n)
      const info = yield* handOver(payer, [heir], 1)
      assert.isAtLeast(info.fee ?? 0, 100_000_000)
      const { built, wallet } = yield* transferFrom(payer)
      const old = yield* Wallet.sign(wallet, built)
      assert.strictEqual((yield* Wallet.broadcastHex(rpcUrl, Wallet.bytesOf(old))).code, "SIGERROR")
      const account = yield* Wallet.ask(rpcUrl, "wallet/getaccount", { address: payer.address, visible: true })
      assert.deepInclude(account as object, {
        owner_permission: { permission_name: "owner", threshold: 1, keys: [{ address: heir.address, weight: 1 }] }
      })
    })
  )

  it.effect("of two keys: one signature is not enough, two are, and cost 1 TRX", () =>
    Effect.gen(function* () {
      const { accounts, fund, rpcUrl } = yield* TronTestChain
      const [, , owner = accounts.stranger, partner = accounts.stranger] = accounts.payers
      yield* fund(owner.address, 200_000_000n)
      yield* handOver(owner, [owner, partner], 2)
      const { built, wallet } = yield* transferFrom(owner, 2)
      const once = yield* Effect.promise(() => wallet.trx.multiSign(built, owner.privateKey, 2))
      const alone = yield* Wallet.broadcastHex(rpcUrl, Wallet.bytesOf(once))
      assert.deepInclude(alone, { code: "SIGERROR", result: false })
      const weight = yield* Effect.promise(() => wallet.trx.getSignWeight(once))
      assert.strictEqual(weight.current_weight, 1)
      assert.strictEqual(weight.permission.threshold, 2)
      const twice = yield* Effect.promise(() => wallet.trx.multiSign(once, partner.privateKey, 2))
      assert.strictEqual(twice.signature.length, 2)
      assert.strictEqual((yield* Wallet.broadcastHex(rpcUrl, Wallet.bytesOf(twice))).code, "SUCCESS")
      const info = yield* Wallet.information(rpcUrl, twice.txID)
      const { receipt = {} } = info
      const parts = Number(receipt["energy_fee"] ?? 0) + Number(receipt["net_fee"] ?? 0)
      assert.strictEqual((info.fee ?? 0) - parts, 1_000_000)
    })
  )

  it.effect("of the active kind do not change permissions", () =>
    Effect.gen(function* () {
      const { accounts, rpcUrl, sign } = yield* TronTestChain
      const keys = [{ address: accounts.stranger.address, weight: 1 }]
      const permission = { permission_name: "p", threshold: 1, keys }
      const fields = { owner: permission, actives: [{ ...permission, type: 2, operations: everyday }] }
      const transaction = yield* sign(
        { contract: "AccountPermissionUpdateContract", fields, permissionId: 2 },
        accounts.deployer
      )
      const bytes = Wallet.bytesOf({ raw_data_hex: transaction.rawHex, signature: transaction.signatures })
      assert.deepInclude(yield* Wallet.broadcastHex(rpcUrl, bytes), {
        code: "SIGERROR",
        message: "Validate signature error: Permission denied"
      })
    })
  )
})
