import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { TronWeb } from "tronweb"

import { TronDollar } from "../../src/testing/artifacts/TronDollar.ts"
import { TronTestChain } from "../../src/testing/TronTestChain.ts"
import * as TestChain from "../../src/testing/TronTestChain.ts"
import * as Wallet from "./TronWebWallet.ts"

const transferTopic = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"

const word = (address: string) => TronWeb.address.toHex(address).slice(2).toLowerCase().padStart(64, "0")

layer(TestChain.layer({ startTime: Wallet.startTime }))("the node, driven by tronweb", (it) => {
  it.effect("deploys a contract, mints, and transfers", () =>
    Effect.gen(function* () {
      const { accounts, balanceOf, rpcUrl } = yield* TronTestChain
      const { deployer, payers, payee } = accounts
      const wallet = Wallet.make(rpcUrl, deployer)
      const built = yield* Effect.promise(() =>
        wallet.transactionBuilder.createSmartContract({
          abi: [...TronDollar.abi],
          bytecode: TronDollar.bytecode,
          feeLimit: 2_000_000_000,
          userFeePercentage: 100,
          originEnergyLimit: 10_000_000,
          name: "Dollar"
        })
      )
      const deployed = yield* Wallet.sign(wallet, built)
      const sent = yield* Effect.promise(() => wallet.trx.sendRawTransaction(deployed))
      assert.isTrue(sent.result)
      const creation = yield* Wallet.information(rpcUrl, deployed.txID)
      assert.strictEqual(creation.receipt?.["result"], "SUCCESS")
      const hex = creation.contract_address ?? ""
      assert.strictEqual(hex, deployed.contract_address)
      const contract = TronWeb.address.fromHex(hex)

      const minted = yield* Wallet.sign(
        wallet,
        yield* Wallet.buildCall(wallet, contract, "mint(address,uint256)", [
          { type: "address", value: payers[0].address },
          { type: "uint256", value: 5_000_000 }
        ])
      )
      assert.isTrue((yield* Effect.promise(() => wallet.trx.sendRawTransaction(minted))).result)

      const payer = Wallet.make(rpcUrl, payers[0])
      const paid = yield* Wallet.sign(payer, yield* Wallet.buildTransfer(payer, contract, payee.address, 1_500_000n))
      const response = yield* Wallet.broadcastHex(rpcUrl, Wallet.bytesOf(paid))
      assert.deepStrictEqual(response, { result: true, code: "SUCCESS", message: "", txid: paid.txID })
      assert.strictEqual(yield* balanceOf(payers[0].address, contract), 3_500_000n)
      assert.strictEqual(yield* balanceOf(payee.address, contract), 1_500_000n)

      const told = yield* Effect.promise(() => wallet.trx.getContract(contract))
      assert.strictEqual(told.abi.entrys?.length, TronDollar.abi.length)
      assert.strictEqual(told.name, "Dollar")
    })
  )

  it.effect("reports a transfer's outcome, at once and when it is solidified", () =>
    Effect.gen(function* () {
      const { accounts, mine, rpcUrl, token } = yield* TronTestChain
      const [, payer] = accounts.payers
      const wallet = Wallet.make(rpcUrl, payer ?? accounts.stranger)
      const signed = yield* Wallet.sign(
        wallet,
        yield* Wallet.buildTransfer(wallet, token.address, accounts.stranger.address, 7n)
      )
      assert.deepStrictEqual(yield* Wallet.information(rpcUrl, signed.txID), {})
      yield* Wallet.broadcastHex(rpcUrl, Wallet.bytesOf(signed))
      const info = yield* Wallet.information(rpcUrl, signed.txID)
      assert.strictEqual(info.id, signed.txID)
      assert.strictEqual(info.receipt?.["result"], "SUCCESS")
      assert.strictEqual(info.receipt?.["net_usage"], Wallet.bytesOf(signed).length / 2 + 64)
      assert.strictEqual(info.fee, Number(info.receipt?.["energy_fee"]))
      assert.strictEqual(Number(info.receipt?.["energy_fee"]), Number(info.receipt?.["energy_usage_total"]) * 100)
      assert.deepStrictEqual(info.log, [
        {
          address: TronWeb.address.toHex(token.address).slice(2).toLowerCase(),
          topics: [transferTopic, word(payer?.address ?? ""), word(accounts.stranger.address)],
          data: (7).toString(16).padStart(64, "0")
        }
      ])

      yield* mine(17)
      assert.deepStrictEqual(yield* Wallet.information(rpcUrl, signed.txID, "walletsolidity"), {})
      yield* mine(1)
      assert.deepStrictEqual(yield* Wallet.information(rpcUrl, signed.txID, "walletsolidity"), info)
      const confirmed = yield* Effect.promise(() => wallet.trx.getTransaction(signed.txID))
      assert.deepStrictEqual(confirmed.raw_data, signed.raw_data)
      assert.strictEqual(confirmed.raw_data_hex, signed.raw_data_hex)
    })
  )

  it.effect("accepts a transaction's JSON, and ignores its fields about its own bytes", () =>
    Effect.gen(function* () {
      const { accounts, balanceOf, rpcUrl, token } = yield* TronTestChain
      const wallet = Wallet.make(rpcUrl, accounts.stranger)
      const [, , payer = accounts.stranger] = accounts.payers
      const payerWallet = Wallet.make(rpcUrl, payer)
      const signed = yield* Wallet.sign(
        payerWallet,
        yield* Wallet.buildTransfer(payerWallet, token.address, accounts.deployer.address, 9n)
      )
      const lying = { ...signed, raw_data_hex: "00", txID: "00".repeat(32) }
      const before = yield* balanceOf(accounts.deployer.address)
      assert.deepStrictEqual(yield* Wallet.ask(rpcUrl, "wallet/broadcasttransaction", lying), {
        result: true,
        txid: signed.txID
      })
      assert.strictEqual((yield* balanceOf(accounts.deployer.address)) - before, 9n)
      assert.isAbove(yield* Effect.promise(() => wallet.trx.getBalance(accounts.stranger.address)), 0)
    })
  )

  it.effect("simulates a call", () =>
    Effect.gen(function* () {
      const { accounts, balanceOf, rpcUrl, token } = yield* TronTestChain
      const wallet = Wallet.make(rpcUrl, accounts.stranger)
      const [payer] = accounts.payers
      const before = yield* balanceOf(payer.address)
      const parameters = [
        { type: "address", value: accounts.payee.address },
        { type: "uint256", value: 3 }
      ]
      const look = (from: string) =>
        Effect.promise(() =>
          wallet.transactionBuilder.triggerConstantContract(
            token.address,
            "transfer(address,uint256)",
            {},
            parameters,
            from
          )
        )
      const tried = yield* look(payer.address)
      assert.isTrue(tried.result.result)
      assert.isAbove(tried.energy_used ?? 0, 10_000)
      // As mainnet's USDT: returns false, and the money moves all the same.
      assert.deepStrictEqual(tried.constant_result, ["00".repeat(32)])
      assert.strictEqual(yield* balanceOf(payer.address), before)
      const energy = yield* Wallet.ask(rpcUrl, "wallet/estimateenergy", {
        owner_address: payer.address,
        contract_address: token.address,
        function_selector: "transfer(address,uint256)",
        parameter: `${TronWeb.address.toHex(accounts.payee.address).slice(2).padStart(64, "0")}${"3".padStart(64, "0")}`,
        visible: true
      })
      assert.deepStrictEqual(energy, { result: { result: true }, energy_required: tried.energy_used })
    })
  )

  it.effect("responds to a failing call as java-tron does", () =>
    Effect.gen(function* () {
      const { accounts, rpcUrl, token } = yield* TronTestChain
      const { ret, ...request } = { ret: [{ ret: "FAILED" }], owner_address: accounts.payee.address, visible: true }
      const data = `a9059cbb${"11".padStart(64, "0")}${"1".padStart(64, "0")}`
      const response = yield* Wallet.ask(rpcUrl, "wallet/triggerconstantcontract", {
        ...request,
        contract_address: token.address,
        data
      })
      const message = Buffer.from("REVERT opcode executed").toString("hex")
      assert.deepInclude(response as object, { result: { result: true, message } })
      assert.deepInclude((response as { transaction: object }).transaction, { ret })
      assert.deepStrictEqual(
        yield* Wallet.ask(rpcUrl, "wallet/triggerconstantcontract", {
          ...request,
          contract_address: accounts.payee.address,
          data
        }),
        {
          result: {
            code: "CONTRACT_VALIDATE_ERROR",
            message: Buffer.from("Smart contract is not exist.").toString("hex")
          }
        }
      )
    })
  )

  it.effect("sends TRX, and activates the recipient", () =>
    Effect.gen(function* () {
      const { accounts, rpcUrl } = yield* TronTestChain
      const wallet = Wallet.make(rpcUrl, accounts.stranger)
      const fresh = yield* Effect.promise(() => wallet.createAccount())
      assert.deepStrictEqual(yield* Wallet.ask(rpcUrl, "wallet/getaccount", { address: fresh.address.hex }), {})
      const before = yield* Effect.promise(() => wallet.trx.getUnconfirmedBalance(accounts.stranger.address))
      const built = yield* Effect.promise(() =>
        wallet.transactionBuilder.sendTrx(fresh.address.base58, 2_000_000, accounts.stranger.address)
      )
      const signed = yield* Wallet.sign(wallet, built)
      const sent = yield* Effect.promise(() => wallet.trx.sendRawTransaction(signed))
      assert.isTrue(sent.result)
      const after = yield* Effect.promise(() => wallet.trx.getUnconfirmedBalance(accounts.stranger.address))
      // 2 TRX sent, 1 TRX for the account, 0.1 TRX instead of bandwidth.
      assert.strictEqual(before - after, 3_100_000)
      const account = yield* Effect.promise(() => wallet.trx.getUnconfirmedAccount(fresh.address.base58))
      assert.strictEqual(account.balance, 2_000_000)
      const info = yield* Wallet.information(rpcUrl, signed.txID)
      assert.strictEqual(info.fee, 1_100_000)
    })
  )
})

layer(TestChain.layer({ startTime: Wallet.startTime, chainId: 0x01020304 }))("the node's blocks", (it) => {
  it.effect("have ids that begin with their number; the first one's ends with the chain id", () =>
    Effect.gen(function* () {
      const { mine, rpcUrl } = yield* TronTestChain
      const wallet = new TronWeb({ fullHost: rpcUrl, disablePlugins: true })
      yield* mine()
      const first = yield* Effect.promise(() => wallet.trx.getBlockByNumber(0))
      assert.match(first.blockID, /^0{16}[0-9a-f]{40}01020304$/)
      const second = yield* Effect.promise(() => wallet.trx.getBlockByNumber(1))
      assert.match(second.blockID, /^0{15}1/)
      assert.strictEqual(second.block_header.raw_data.parentHash, first.blockID)
      const byId = yield* Effect.promise(() => wallet.trx.getBlockByHash(second.blockID))
      assert.strictEqual(byId.blockID, second.blockID)
      assert.deepStrictEqual(yield* Wallet.ask(rpcUrl, "jsonrpc", { jsonrpc: "2.0", id: 1, method: "eth_chainId" }), {
        jsonrpc: "2.0",
        id: 1,
        result: "0x1020304"
      })
      assert.deepStrictEqual(yield* Wallet.ask(rpcUrl, "wallet/getblockbynum", { num: 99 }), {})
    })
  )
})
