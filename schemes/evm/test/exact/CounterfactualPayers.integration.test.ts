/** Accounts that are not deployed yet (ERC-6492): their first payment deploys them, by a known factory and at a bounded cost. */
import { assert, describe, layer } from "@effect/vitest"
import { PaymentPayload } from "@pontage/core"
import * as Effect from "effect/Effect"
import {
  type Address,
  concatHex,
  encodeDeployData,
  encodeFunctionData,
  getContractAddress,
  type Hex,
  isAddressEqual,
  pad,
  parseAbi,
  serializeErc6492Signature,
  toHex
} from "viem"

import {
  counterfactualSettlerAddress,
  deployCounterfactualSettler,
  Eip3009,
  EvmHex,
  exactEvm
} from "../../src/index.ts"
import {
  Erc1271Wallet,
  EvmTestChain,
  GasBurner1271,
  HostileFactory,
  ReturnBomb1271,
  SmartAccountContracts,
  SmartAccounts,
  SwayingWallet
} from "../../src/testing/index.ts"
import * as Payment from "../EvmTestPayment.ts"

const chain = EvmTestChain.EvmTestChain

type Account = Effect.Success<ReturnType<typeof safeOf>>

/** The contracts of accounts and our settler, and the options of a facilitator that serves them. */
const ready = Effect.gen(function* () {
  const one = yield* chain
  const contracts = yield* SmartAccountContracts.deploy(one)
  const counterfactualSettler = yield* deployCounterfactualSettler({
    signer: one.accounts.deployer,
    rpcUrl: one.rpcUrl
  })
  const implementation = yield* Effect.promise(() =>
    one.client.readContract({
      address: contracts.solady,
      abi: parseAbi(["function implementation() view returns (address)"]),
      functionName: "implementation"
    })
  )
  const options = { counterfactualSettler, knownFactories: [contracts.solady], knownImplementations: [implementation] }
  return { contracts, options }
})

const safeOf = Effect.fnUntraced(function* (options?: SmartAccounts.SafeOptions) {
  const one = yield* chain
  const account = yield* Effect.promise(() => SmartAccounts.safe(one, one.accounts.payers[0], options))
  yield* one.mint(account.address, 1_000_000n)
  return account
})

const soladyOf = Effect.fnUntraced(function* (contracts: SmartAccountContracts.SmartAccountContracts, salt: Hex) {
  const one = yield* chain
  const account = yield* Effect.promise(() => SmartAccounts.solady(one, contracts, one.accounts.payers[0], salt))
  yield* one.mint(account.address, 1_000_000n)
  return account
})

const payerOf = (account: Account): Payment.Deviation => ({ from: account.address, signer: account })

const read = Effect.fnUntraced(function* (options: Payment.FacilitatorOptions, deviation: Payment.Deviation) {
  const schemeFacilitator = yield* Payment.scheme(yield* chain, options)
  const payment = yield* Payment.read(schemeFacilitator, yield* Payment.payment(deviation))
  return { schemeFacilitator, payment }
})

const verdict = (options: Payment.FacilitatorOptions, deviation: Payment.Deviation) =>
  Payment.outcome(
    Effect.flatMap(read(options, deviation), ({ payment, schemeFacilitator }) => schemeFacilitator.verify(payment))
  )

const receiptOf = (hash: string) =>
  Effect.flatMap(chain, ({ client }) =>
    Effect.promise(() => client.getTransactionReceipt({ hash: EvmHex.fromTrusted(hash) }))
  )

/** Verifies, sends, and says how it ended, what the payee got and what it cost. */
const paid = Effect.fnUntraced(function* (
  options: Payment.FacilitatorOptions,
  deviation: Payment.Deviation,
  meanwhile: Effect.Effect<void, never, EvmTestChain.EvmTestChain> = Effect.void
) {
  const { accounts, balanceOf } = yield* chain
  const { payment, schemeFacilitator } = yield* read(options, deviation)
  const before = yield* balanceOf(accounts.payee.address)
  yield* schemeFacilitator.verify(payment)
  const prepared = yield* Payment.prepareAlone(schemeFacilitator, payment)
  yield* meanwhile
  const end = yield* Payment.sendAlone(schemeFacilitator, payment, prepared)
  const { gasUsed } = yield* receiptOf(prepared.transaction)
  return { end: end._tag, received: (yield* balanceOf(accounts.payee.address)) - before, gasUsed }
})

/** The gas that an account's transactions have used. */
const gasOf = Effect.fnUntraced(function* (sender: Address) {
  const { client } = yield* chain
  const head = yield* Effect.promise(() => client.getBlockNumber())
  let gas = 0n
  for (let blockNumber = 1n; blockNumber <= head; blockNumber++) {
    const { transactions } = yield* Effect.promise(() => client.getBlock({ blockNumber, includeTransactions: true }))
    for (const one of transactions.filter(({ from }) => isAddressEqual(from, sender)))
      gas += (yield* receiptOf(one.hash)).gasUsed
  }
  return gas
})

/** Anybody deploys the account. */
const deployed = Effect.fnUntraced(function* (account: Account) {
  const { accounts, send } = yield* chain
  const { factory, factoryData } = yield* Effect.promise(() => account.getFactoryArgs())
  if (factory === undefined || factoryData === undefined) return assert.fail("it is deployed already")
  yield* send({ from: accounts.stranger.address, to: factory, data: factoryData })
})

/** An account of this code, which a factory makes with CREATE2, its wrapped signature, and its money. */
const madeBy = Effect.fnUntraced(function* (
  factory: Address,
  initCode: Hex,
  factoryData: Hex,
  sign: (signature: Hex) => Hex = (signature) => signature
) {
  const { mint } = yield* chain
  const salt = pad("0x")
  const from = getContractAddress({ opcode: "CREATE2", from: factory, salt, bytecode: initCode })
  yield* mint(from, 1_000_000n)
  const deviation: Payment.Deviation = {
    from,
    signature: (signature) =>
      serializeErc6492Signature({ address: factory, data: factoryData, signature: sign(signature) })
  }
  return deviation
})

/** Wraps a signature for a factory. */
const wrap = (address: Address) => (signature: Hex) =>
  serializeErc6492Signature({ address, data: "0x12345678", signature })

/** A deployer that makes whatever it is given. */
const anyDeployer = "0x4e59b44847b379578588920cA78FbF26c0B4956C"

/** An account that the payer's first key owns. */
const owned = Effect.map(chain, ({ accounts }) =>
  encodeDeployData({ ...Erc1271Wallet, args: [accounts.payers[0].address] })
)

const unknown = "unsupported_authorization payer_code_unknown"
const undeployed = "unsupported_authorization account_not_deployed"

describe("an account that is not deployed yet", () => {
  layer(EvmTestChain.layer({ payers: 3 }), { excludeTestServices: true })((it) => {
    it.effect("pays by a transaction that deploys it, and by a plain one from then on", () =>
      Effect.gen(function* () {
        const { accounts, mint } = yield* chain
        const { contracts, options } = yield* ready
        yield* mint(accounts.payee.address, 1n)
        for (const [name, account, mostFirst, mostLater] of [
          ["Safe", yield* safeOf(), 384_000, 107_000],
          ["Solady", yield* soladyOf(contracts, "0x01"), 204_000, 101_000]
        ] as const) {
          const first = yield* paid(options, payerOf(account))
          const later = yield* paid(options, payerOf(account))
          const money = [first.end, first.received, later.end, later.received]
          assert.deepStrictEqual(money, ["Settled", 10_000n, "Settled", 10_000n])
          assert.isBelow(Number(first.gasUsed), mostFirst, name)
          assert.isBelow(Number(later.gasUsed), mostLater, name)
        }
      })
    )

    it.effect(
      "pays though somebody deploys it between its verification and its transaction, at the cost of a plain one",
      () =>
        Effect.gen(function* () {
          const { options } = yield* ready
          const account = yield* safeOf({ salt: 2n })
          const { gasUsed, ...end } = yield* paid(options, payerOf(account), Effect.asVoid(deployed(account)))
          assert.deepStrictEqual(end, { end: "Settled", received: 10_000n })
          assert.isBelow(Number(gasUsed), 120_000)
        })
    )

    it.effect("pays by its wrapped signature though it was deployed before the payment came", () =>
      Effect.gen(function* () {
        const { options } = yield* ready
        const account = yield* safeOf({ salt: 3n })
        const { request } = yield* Payment.signedPayment(payerOf(account))
        yield* deployed(account)
        const schemeFacilitator = yield* Payment.scheme(yield* chain, options)
        const payment = yield* Payment.read(schemeFacilitator, request)
        yield* schemeFacilitator.verify(payment)
        const prepared = yield* Payment.prepareAlone(schemeFacilitator, payment)
        assert.strictEqual((yield* Payment.sendAlone(schemeFacilitator, payment, prepared))._tag, "Settled")
        assert.isBelow(Number((yield* receiptOf(prepared.transaction)).gasUsed), 110_000)
      })
    )

    it.effect("buys through our own client and a whole facilitator", () =>
      Effect.gen(function* () {
        const { accounts, balanceOf, network, token } = yield* chain
        const { options } = yield* ready
        const account = yield* safeOf({ salt: 4n })
        const client = exactEvm.client({ signer: account, network, assets: [{ network, ...token }] })
        const requirements = yield* Payment.requirements
        const asset = client.asset(requirements) ?? assert.fail("the client knows the token")
        const validBefore = Number(yield* Payment.latestTime) + 60
        const signed = yield* client.sign({ requirements, asset, validAfter: 0, validBefore, binding: undefined })
        assert.strictEqual(signed.payer, account.address)
        const { settle } = yield* Payment.facilitator(options)
        const before = yield* balanceOf(accounts.payee.address)
        const paymentPayload = PaymentPayload.sealPayload("exact", requirements.network, signed.payload)
        const settling = settle({ paymentPayload, paymentRequirements: requirements }, Payment.claim("undeployed"))
        assert.strictEqual(yield* Payment.outcome(settling), "ok")
        assert.strictEqual(yield* balanceOf(accounts.payee.address), before + 10_000n)
      })
    )

    it.effect("is refused with too little money, and by a signature that is not its owner's", () =>
      Effect.gen(function* () {
        const { accounts } = yield* chain
        const { options } = yield* ready
        const account = yield* safeOf({ salt: 5n })
        const poor = {
          ...payerOf(account),
          signed: { value: 1_000_001n },
          requirements: { maxAmountRequired: "1000001" }
        }
        assert.strictEqual(yield* verdict(options, poor), "INSUFFICIENT_BALANCE balance_below_amount")
        const { factory = "0x", factoryData = "0x" } = yield* Effect.promise(() => account.getFactoryArgs())
        const forged: Payment.Deviation = {
          from: account.address,
          signer: accounts.stranger,
          signature: (signature) => serializeErc6492Signature({ address: factory, data: factoryData, signature })
        }
        assert.match(yield* verdict(options, forged), /^(INVALID_SIGNATURE|unsupported_authorization transfer_refused)/)
      })
    )

    it.effect("is refused where no settler is configured, and where accounts with code are not served", () =>
      Effect.gen(function* () {
        const { options } = yield* ready
        const payer = payerOf(yield* safeOf({ salt: 6n }))
        assert.strictEqual(yield* verdict({}, payer), "unsupported_authorization erc6492")
        const asked: Array<string> = []
        const none = {
          ...options,
          contractPayers: "none",
          onRequest: (method: string) => void asked.push(method)
        } as const
        const { payment, schemeFacilitator } = yield* read(none, payer)
        asked.length = 0
        assert.strictEqual(
          yield* Payment.outcome(schemeFacilitator.verify(payment)),
          "unsupported_authorization erc6492"
        )
        assert.deepStrictEqual(asked, [])
      })
    )

    it.effect("is refused without a request where its factory is unknown, or its wrapper is malformed", () =>
      Effect.gen(function* () {
        const { token } = yield* chain
        const { options } = yield* ready
        const asked: Array<string> = []
        const schemeFacilitator = yield* Payment.scheme(yield* chain, {
          ...options,
          onRequest: (method) => void asked.push(method)
        })
        asked.length = 0
        const magic = "6492".repeat(16)
        for (const [signature, expected] of [
          [wrap(token.address), "unsupported_authorization factory_unknown"],
          [wrap(anyDeployer), "unsupported_authorization factory_unknown"],
          [() => `0x${magic}`, "malformed signature_erc6492"],
          [(one: Hex) => `${one}${magic}`, "malformed signature_erc6492"],
          // Bytes between the parts, which no reader would look at.
          [
            (one: Hex) => `${wrap(token.address)(one).slice(0, -64)}${"00".repeat(32)}${magic}`,
            "malformed signature_erc6492"
          ],
          [() => `0x${"ff".repeat(96)}${magic}`, "malformed signature_erc6492"],
          [() => `0x${"00".repeat(96)}${magic}`, "malformed signature_erc6492"],
          [
            (one: Hex) =>
              `0x${wrap(token.address)(one).slice(2).replace("0000000000000000000000000060", "0000000000000000000000000061")}`,
            "malformed signature_erc6492"
          ]
        ] as const) {
          const request = yield* Payment.payment({ signature })
          const outcome = Effect.flatMap(Payment.read(schemeFacilitator, request), (one) =>
            schemeFacilitator.verify(one)
          )
          assert.strictEqual(yield* Payment.outcome(outcome), expected)
        }
        assert.deepStrictEqual(asked, [])
      })
    )

    it.effect("is refused where its factory makes another account, or none", () =>
      Effect.gen(function* () {
        const { options } = yield* ready
        const [one, other] = [yield* safeOf({ salt: 7n }), yield* safeOf({ salt: 8n })]
        const { factory = "0x", factoryData = "0x" } = yield* Effect.promise(() => other.getFactoryArgs())
        for (const data of [factoryData, "0x", "0x12345678"] as const) {
          const deviation: Payment.Deviation = {
            from: one.address,
            signature: (signature) => serializeErc6492Signature({ address: factory, data, signature })
          }
          assert.strictEqual(yield* verdict(options, deviation), undeployed)
        }
      })
    )

    it.effect("is refused where the code that it would have, or that its deployment runs, is unknown", () =>
      Effect.gen(function* () {
        const { send } = yield* chain
        const { options } = yield* ready
        // Safe's own code, and so accepted by the token, but at an address that is not published.
        const bytecode = SmartAccountContracts.bytecodeOf(
          "@safe-global/safe-contracts/build/artifacts/contracts/SafeL2.sol/SafeL2.json"
        )
        const hostile = getContractAddress({ opcode: "CREATE2", from: anyDeployer, salt: pad("0x01"), bytecode })
        yield* send({ to: anyDeployer, data: concatHex([pad("0x01"), bytecode]), gas: 12_000_000n })
        assert.strictEqual(yield* verdict(options, payerOf(yield* safeOf({ singleton: hostile }))), unknown)
        const open = { ...options, knownFactories: [anyDeployer] }
        const initCode = yield* owned
        const payer = yield* madeBy(anyDeployer, initCode, concatHex([pad("0x"), initCode]))
        assert.strictEqual(yield* verdict(open, payer), unknown)
        assert.strictEqual(yield* verdict({ ...open, contractPayers: "any" }, payer), "ok")
      })
    )

    it.effect("is found out where any code may pay, and its code looks at where it runs or burns its gas", () =>
      Effect.gen(function* () {
        const { options } = yield* ready
        const open = { ...options, knownFactories: [anyDeployer], contractPayers: "any" } as const
        for (const [initCode, expected] of [
          [encodeDeployData({ ...SwayingWallet, args: [0, 0n] }), /^INVALID_SIGNATURE token_refused$/],
          [encodeDeployData({ ...SwayingWallet, args: [1, 1_000_000n] }), /^ok$/],
          [encodeDeployData({ ...SwayingWallet, args: [1, 500n] }), /payer_code_sways$/],
          [GasBurner1271.bytecode, /token_refused|transfer_refused/],
          [ReturnBomb1271.bytecode, /token_refused|transfer_refused/]
        ] as const) {
          const payer = yield* madeBy(anyDeployer, initCode, concatHex([pad("0x"), initCode]), () => "0x1234")
          assert.match(yield* verdict(open, payer), expected)
        }
      })
    )

    it.effect("costs a bounded amount of gas where a factory on the list misbehaves, and takes nothing", () =>
      Effect.gen(function* () {
        const { accounts, balanceOf, deploy, mint, token } = yield* chain
        const { options } = yield* ready
        const factory = yield* deploy(HostileFactory)
        const open = { ...options, knownFactories: [factory], contractPayers: "any" } as const
        yield* mint(accounts.signers[0].address, 5n)
        const outcomes: Record<string, string> = {}
        for (const [mode, name] of ["good", "burns", "bomb", "simulated", "thief"].entries()) {
          const initCode = concatHex([yield* owned, toHex(mode, { size: 1 })])
          const data = encodeFunctionData({
            abi: HostileFactory.abi,
            functionName: "make",
            args: [BigInt(mode), initCode, token.address]
          })
          const payer = yield* madeBy(factory, initCode, data)
          outcomes[name] = yield* verdict(open, payer)
          if (outcomes[name] !== "ok") continue
          const { end, gasUsed } = yield* paid(open, payer)
          outcomes[name] = `${end} ${gasUsed < 700_000n}`
        }
        assert.deepStrictEqual(outcomes, {
          good: "Settled true",
          burns: "Settled true",
          bomb: "Settled true",
          simulated: undeployed,
          thief: undeployed
        })
        assert.strictEqual(yield* balanceOf(accounts.signers[0].address), 5n)
        assert.strictEqual(yield* balanceOf(factory), 0n)
      })
    )

    it.effect(
      "is banned where it is deployed and emptied before its transaction, at the cost of a failed transfer",
      () =>
        Effect.gen(function* () {
          const { accounts, send, token } = yield* chain
          const { options } = yield* ready
          const account = yield* safeOf({ salt: 9n })
          const { payment, schemeFacilitator } = yield* read(options, payerOf(account))
          yield* schemeFacilitator.verify(payment)
          const prepared = yield* Payment.prepareAlone(schemeFacilitator, payment)
          const before = yield* gasOf(accounts.stranger.address)
          yield* deployed(account)
          const away = yield* Payment.authorization({
            from: account.address,
            signed: { value: 1_000_000n, to: Payment.parsed(accounts.stranger.address) }
          })
          const data = Eip3009.encodeTransferByBytes(away, yield* Payment.sign(away, payerOf(account)))
          yield* send({ from: accounts.stranger.address, to: token.address, data })
          const theirs = (yield* gasOf(accounts.stranger.address)) - before
          assert.strictEqual((yield* Payment.sendAlone(schemeFacilitator, payment, prepared))._tag, "Failed")
          const ours = (yield* receiptOf(prepared.transaction)).gasUsed
          assert.isBelow(Number(ours), 110_000)
          assert.isAbove(Number(theirs), 3 * Number(ours))
          const again = yield* Payment.read(schemeFacilitator, yield* Payment.payment(payerOf(account)))
          assert.strictEqual(
            yield* Payment.outcome(schemeFacilitator.verify(again)),
            "unsupported_authorization account_banned"
          )
        })
    )
  })
})

describe("the counterfactual settler", () => {
  layer(EvmTestChain.layer(), { excludeTestServices: true })((it) => {
    it.effect("is deployed at its address, and checked when a facilitator starts", () =>
      Effect.gen(function* () {
        const one = yield* chain
        const start = (options: Payment.FacilitatorOptions) =>
          Effect.match(Payment.scheme(one, options), {
            onSuccess: () => "started",
            onFailure: ({ _tag, message }) => `${_tag}: ${message}`
          })
        const counterfactualSettler = counterfactualSettlerAddress
        assert.match(yield* start({ counterfactualSettler }), /^Misconfigured: .*missing; deploy it with deployCounter/)
        const deploy = deployCounterfactualSettler({ signer: one.accounts.deployer, rpcUrl: one.rpcUrl })
        assert.strictEqual(yield* deploy, counterfactualSettlerAddress)
        assert.strictEqual(yield* start({ counterfactualSettler }), "started")
        const { address } = one.token
        assert.match(
          yield* start({ counterfactualSettler: address }),
          /^Misconfigured: .*not that of the counterfactual/
        )
        assert.match(yield* start({ counterfactualSettler: "0x12" }), /^Misconfigured: .*not an address/)
        assert.match(yield* start({ knownFactories: ["0x12"] }), /^Misconfigured: .*knownFactories: "0x12"/)
      })
    )
  })
})
