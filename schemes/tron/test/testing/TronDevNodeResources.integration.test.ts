import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Types } from "tronweb"

import { TronBurnerToken } from "../../src/testing/artifacts/TronBurnerToken.ts"
import { TronSilentToken } from "../../src/testing/artifacts/TronSilentToken.ts"
import { TronTestChain } from "../../src/testing/TronTestChain.ts"
import * as TestChain from "../../src/testing/TronTestChain.ts"
import * as Wallet from "./TronWebWallet.ts"

const Resources = Schema.Struct({
  freeNetUsed: Schema.optionalKey(Schema.Finite),
  EnergyLimit: Schema.optionalKey(Schema.Finite),
  EnergyUsed: Schema.optionalKey(Schema.Finite),
  TotalEnergyLimit: Schema.Finite,
  TotalEnergyWeight: Schema.Finite
})
/** Energy that returns within a test's milliseconds. */
const recovered = 10

const decodeResources = Schema.decodeUnknownEffect(Resources)

const resourcesOf = Effect.fnUntraced(function* (address: string) {
  const { rpcUrl } = yield* TronTestChain
  const response = yield* Wallet.ask(rpcUrl, "wallet/getaccountresource", { address, visible: true })
  return yield* Effect.orDie(decodeResources(response))
})

const transferOf = (from: TestChain.Shape["accounts"]["stranger"], feeLimit = 100_000_000n) =>
  Effect.gen(function* () {
    const { accounts, send, token } = yield* TronTestChain
    const data = `a9059cbb${"22".padStart(64, "0")}${"1".padStart(64, "0")}`
    assert.isDefined(accounts)
    const wanted = {
      contract: "TriggerSmartContract",
      fields: { contract_address: token.address, data },
      feeLimit
    } as const
    const { receipt } = yield* send(wanted, from)
    return receipt
  })

layer(TestChain.layer({ startTime: Wallet.startTime }))("what the node charges", (it) => {
  it.effect("a transfer: energy burnt, the free bandwidth first and sun after it", () =>
    Effect.gen(function* () {
      const { accounts, balance } = yield* TronTestChain
      const [payer] = accounts.payers
      const before = yield* balance(payer.address)
      const first = yield* transferOf(payer)
      assert.strictEqual(first.netFee, 0n)
      assert.strictEqual(Number(first.netUsage), (yield* resourcesOf(payer.address)).freeNetUsed)
      const second = yield* transferOf(payer)
      assert.strictEqual(second.netUsage, 0n)
      assert.isTrue(second.netFee > 300_000n)
      assert.strictEqual(second.netFee % 1_000n, 0n)
      // A recipient without the token needs a new slot of storage: 15,000 more.
      assert.strictEqual((first.call?.energyTotal ?? 0n) - (second.call?.energyTotal ?? 0n), 15_000n)
      assert.strictEqual(before - (yield* balance(payer.address)), first.fee + second.fee)
    })
  )

  it.effect("the free bandwidth returns within a day", () =>
    Effect.gen(function* () {
      const { accounts, advance } = yield* TronTestChain
      const [, payer = accounts.stranger] = accounts.payers
      const { netUsage } = yield* transferOf(payer)
      yield* advance(43_200_000)
      assert.strictEqual((yield* resourcesOf(payer.address)).freeNetUsed, Math.floor(Number(netUsage) / 2))
      yield* advance(43_200_000)
      assert.isUndefined((yield* resourcesOf(payer.address)).freeNetUsed)
    })
  )

  it.effect("a fee limit that is too low: all of it, and no money moves", () =>
    Effect.gen(function* () {
      const { accounts, balanceOf, rpcUrl, token } = yield* TronTestChain
      const [, , payer = accounts.stranger] = accounts.payers
      const wallet = Wallet.make(rpcUrl, payer)
      const options = { feeLimit: 1_000_000 }
      const built = yield* Wallet.buildTransfer(wallet, token.address, accounts.payee.address, 1n, options)
      const signed = yield* Wallet.sign(wallet, built)
      assert.strictEqual((yield* Wallet.broadcastHex(rpcUrl, Wallet.bytesOf(signed))).code, "SUCCESS")
      const info = yield* Wallet.information(rpcUrl, signed.txID)
      assert.strictEqual(info.result, "FAILED")
      assert.strictEqual(info.receipt?.["result"], "OUT_OF_ENERGY")
      assert.strictEqual(info.receipt?.["energy_fee"], 1_000_000)
      assert.strictEqual(info.receipt?.["energy_usage_total"], 10_000)
      assert.isUndefined(info.log)
      assert.strictEqual(yield* balanceOf(accounts.payee.address), 0n)
    })
  )

  it.effect("a call that reverts: its energy, and no money moves", () =>
    Effect.gen(function* () {
      const { accounts, balance, call, rpcUrl, token } = yield* TronTestChain
      const [, , , payer = accounts.stranger] = accounts.payers
      yield* call({ signature: "addBlackList(address)", parameters: [payer.address] })
      const wallet = Wallet.make(rpcUrl, payer)
      const before = yield* balance(payer.address)
      const built = yield* Wallet.buildTransfer(wallet, token.address, accounts.payee.address, 1n)
      const signed = yield* Wallet.sign(wallet, built)
      yield* Wallet.broadcastHex(rpcUrl, Wallet.bytesOf(signed))
      const info = yield* Wallet.information(rpcUrl, signed.txID)
      assert.strictEqual(info.receipt?.["result"], "REVERT")
      assert.strictEqual(info.resMessage, Buffer.from("REVERT opcode executed").toString("hex"))
      assert.isBelow(Number(info.receipt?.["energy_usage_total"]), 10_000)
      assert.strictEqual(Number(before - (yield* balance(payer.address))), info.fee)
    })
  )

  it.effect("the penalty of a popular contract", () =>
    Effect.gen(function* () {
      const { accounts, setEnergyFactor, token } = yield* TronTestChain
      const [, , , , payer = accounts.stranger] = accounts.payers
      const plain = yield* transferOf(payer)
      yield* setEnergyFactor(token.address, 34_000n)
      const dear = yield* transferOf(payer)
      yield* setEnergyFactor(token.address, 0n)
      const energy = plain.call?.energyTotal ?? 0n
      assert.strictEqual(dear.call?.energyTotal, (energy * 44n) / 10n)
      assert.strictEqual(dear.call?.energyPenalty, (energy * 34n) / 10n)
    })
  )

  it.effect("a memo in a transaction: 1 TRX", () =>
    Effect.gen(function* () {
      const { accounts, rpcUrl, token } = yield* TronTestChain
      const [payer] = accounts.payers
      const wallet = Wallet.make(rpcUrl, payer)
      const plain = yield* Wallet.buildTransfer(wallet, token.address, accounts.stranger.address, 1n)
      const noted = yield* Effect.promise(() =>
        wallet.transactionBuilder.addUpdateData(plain, "for you", "utf8", { txLocal: true })
      )
      const signed = yield* Wallet.sign(wallet, noted)
      assert.strictEqual((yield* Wallet.broadcastHex(rpcUrl, Wallet.bytesOf(signed))).code, "SUCCESS")
      const { fee = 0, receipt = {} } = yield* Wallet.information(rpcUrl, signed.txID)
      assert.strictEqual(fee - Number(receipt["energy_fee"]) - Number(receipt["net_fee"] ?? 0), 1_000_000)
    })
  )

  it.effect("for writes of a burner, and not for the event that a silent token leaves out", () =>
    Effect.gen(function* () {
      const { accounts, call, deploy, mint, transfers } = yield* TronTestChain
      const [from] = accounts.payers
      const silent = yield* deploy(TronSilentToken)
      yield* mint(from.address, 5n, silent)
      const parameters = [accounts.stranger.address, 2n]
      const signature = "transfer(address,uint256)"
      const quiet = yield* call({ from, contract: silent, signature, parameters })
      assert.deepStrictEqual(quiet.receipt.call?.logs, [])
      assert.strictEqual((yield* transfers(silent)).length, 1)

      const burner = yield* deploy(TronBurnerToken)
      yield* mint(from.address, 5n, burner)
      const cheap = yield* call({ from, contract: burner, signature, parameters: [accounts.stranger.address, 1n] })
      yield* call({ contract: burner, signature: "setWrites(uint256)", parameters: [10n] })
      const dear = yield* call({ from, contract: burner, signature, parameters: [accounts.stranger.address, 1n] })
      assert.isTrue((dear.receipt.call?.energyTotal ?? 0n) - (cheap.receipt.call?.energyTotal ?? 0n) > 150_000n)
    })
  )
})

layer(TestChain.layer({ startTime: Wallet.startTime }))("stake", (it) => {
  it.effect("lent by tronweb pays for another's energy, and returns used", () =>
    Effect.gen(function* () {
      const { accounts, balance, rpcUrl } = yield* TronTestChain
      const [signer] = accounts.signers
      const [payer] = accounts.payers
      const wallet = Wallet.make(rpcUrl, signer)
      const submit = Effect.fnUntraced(function* (build: () => Promise<Types.Transaction>) {
        const signed = yield* Wallet.sign(wallet, yield* Effect.promise(build))
        const sent = yield* Effect.promise(() => wallet.trx.sendRawTransaction(signed))
        assert.isTrue(sent.result)
      })
      const { transactionBuilder: builder } = wallet
      yield* submit(() => builder.freezeBalanceV2(20_000_000_000, "ENERGY", signer.address))
      const { TotalEnergyLimit, TotalEnergyWeight } = yield* resourcesOf(signer.address)
      const sun = Math.ceil((65_000 * TotalEnergyWeight * 1e6) / TotalEnergyLimit)
      yield* submit(() => builder.delegateResource(sun, payer.address, "ENERGY", signer.address, false))
      assert.strictEqual((yield* resourcesOf(payer.address)).EnergyLimit, 65_000)
      assert.deepInclude(
        yield* Wallet.ask(rpcUrl, "wallet/getdelegatedresourcev2", {
          fromAddress: signer.address,
          toAddress: payer.address,
          visible: true
        }),
        { delegatedResource: [{ from: signer.address, to: payer.address, frozen_balance_for_energy: sun }] }
      )
      assert.deepStrictEqual(
        yield* Wallet.ask(rpcUrl, "wallet/getdelegatedresourceaccountindexv2", {
          value: signer.address,
          visible: true
        }),
        { account: signer.address, toAccounts: [payer.address] }
      )

      const before = yield* balance(payer.address)
      const receipt = yield* transferOf(payer)
      assert.strictEqual(receipt.fee, 0n)
      assert.strictEqual(yield* balance(payer.address), before)
      const used = receipt.call?.energyUsage ?? 0n
      assert.strictEqual(receipt.call?.energyFee, 0n)
      assert.strictEqual((yield* resourcesOf(payer.address)).EnergyUsed, Number(used))
      // A fee limit limits energy from stake too.
      const limited = yield* transferOf(payer, 1_000_000n)
      assert.strictEqual(limited.call?.ending, "OUT_OF_ENERGY")
      assert.strictEqual(limited.call?.energyUsage, 10_000n)

      yield* submit(() => builder.undelegateResource(sun, payer.address, "ENERGY", signer.address))
      const [left, back] = [yield* resourcesOf(payer.address), yield* resourcesOf(signer.address)]
      assert.isUndefined(left.EnergyLimit)
      assert.isUndefined(left.EnergyUsed)
      assert.approximately(back.EnergyUsed ?? 0, Number(used + 10_000n), recovered)
      assert.deepStrictEqual(
        yield* Wallet.ask(rpcUrl, "wallet/getdelegatedresourcev2", {
          fromAddress: signer.address,
          toAddress: payer.address
        }),
        {}
      )
    })
  )

  it.effect("can be lent as far as it is unused, to existing accounts that are not contracts", () =>
    Effect.gen(function* () {
      const { accounts, rpcUrl, sign, stake, token } = yield* TronTestChain
      const [, signer] = accounts.signers
      yield* stake(signer, 10_000_000n)
      const maximum = yield* Wallet.ask(rpcUrl, "wallet/getcandelegatedmaxsize", {
        owner_address: signer.address,
        type: 1,
        visible: true
      })
      assert.deepStrictEqual(maximum, { max_size: 10_000_000 })
      const lending = Effect.fnUntraced(function* (receiver: string, balance: number) {
        const fields = { receiver_address: receiver, balance, resource: "ENERGY" }
        const transaction = yield* sign({ contract: "DelegateResourceContract", fields }, signer)
        const bytes = Wallet.bytesOf({ raw_data_hex: transaction.rawHex, signature: transaction.signatures })
        return (yield* Wallet.broadcastHex(rpcUrl, bytes)).message
      })
      assert.match(yield* lending(accounts.payee.address, 1_000_000), /not exists$/)
      assert.match(yield* lending(token.address, 1_000_000), /contract addresses$/)
      assert.match(yield* lending(accounts.stranger.address, 999_999), /greater than or equal to 1 TRX$/)
      assert.match(yield* lending(accounts.stranger.address, 10_000_001), /available FreezeEnergyV2 balance$/)
      assert.strictEqual(yield* lending(accounts.stranger.address, 10_000_000), "")
    })
  )

  it.effect("unstaked is no longer lent, and is shown as unfreezing", () =>
    Effect.gen(function* () {
      const { accounts, rpcUrl, send, stake } = yield* TronTestChain
      const [, , signer] = accounts.signers
      yield* stake(signer, 5_000_000n)
      const fields = { unfreeze_balance: 2_000_000, resource: "ENERGY" }
      yield* send({ contract: "UnfreezeBalanceV2Contract", fields }, signer)
      const account = yield* Wallet.ask(rpcUrl, "wallet/getaccount", { address: signer.address, visible: true })
      const block = yield* Wallet.ask(rpcUrl, "wallet/getnowblock")
      const { block_header: header } = block as { block_header: { raw_data: { timestamp: number } } }
      assert.deepInclude(account as object, {
        frozenV2: [{}, { type: "ENERGY", amount: 3_000_000 }, { type: "TRON_POWER" }],
        unfrozenV2: [
          {
            type: "ENERGY",
            unfreeze_amount: 2_000_000,
            unfreeze_expire_time: header.raw_data.timestamp + 14 * 86_400_000
          }
        ]
      })
    })
  )
})
