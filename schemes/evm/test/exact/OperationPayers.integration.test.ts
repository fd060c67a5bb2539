/** Payments by user operations: smart accounts of several makers pay in any token, without coin and without a bundler. */
import { assert, describe, layer } from "@effect/vitest"
import { PaymentPayload } from "@pontage/core"
import * as Effect from "effect/Effect"
import {
  type Address,
  encodeAbiParameters,
  encodeFunctionData,
  pad,
  parseAbi,
  parseAbiParameters,
  parseTransaction
} from "viem"
import { type SmartAccount, toSimple7702SmartAccount } from "viem/account-abstraction"

import { EvmHex, exactEvm, paymentGuardAddress } from "../../src/index.ts"
import { EvmTestChain, SmartAccountContracts, SmartAccounts } from "../../src/testing/index.ts"
import * as Batch from "../EvmTestBatch.ts"
import {
  byOwner,
  erc20Abi,
  guardAbi,
  mintPlain,
  type OperationDeviation,
  paid,
  read,
  ready,
  receiptOf,
  request,
  schemeWith,
  settlers,
  simpleOf,
  swaying,
  verdict
} from "../EvmTestOperation.ts"
import * as Payment from "../EvmTestPayment.ts"

const chain = EvmTestChain.EvmTestChain

const unsupported = (detail: string) => `unsupported_authorization ${detail}`

describe("a user operation", () => {
  layer(EvmTestChain.layer({ payers: 6 }), { excludeTestServices: true })((it) => {
    it.effect(
      "pays for accounts of several makers, deployed by it and deployed before, in tokens of any shape",
      () =>
        Effect.gen(function* () {
          const one = yield* chain
          const { accounts, client, mint, token } = one
          const { contracts, options, plain } = yield* ready
          yield* mintPlain(plain, accounts.payee.address, 1n)
          const [owner] = accounts.payers
          const validUntil = Number(yield* Payment.latestTime) + 600
          const makers = [
            ["SimpleAccount 0.8", () => SmartAccounts.simple(one, owner, "0.8"), 257_000, 109_000, true],
            ["SimpleAccount 0.7", () => SmartAccounts.simple(one, owner, "0.7"), 274_000, 114_000, true],
            ["Safe with a validity", () => SmartAccounts.safe(one, owner, { validUntil }), 406_000, 130_000, false],
            ["Safe", () => SmartAccounts.safe(one, owner, { salt: 1n }), 423_000, 144_000, true],
            ["Solady", () => SmartAccounts.solady(one, contracts, owner), 216_000, 113_000, true]
          ] as const
          for (const [name, make, mostFirst, mostLater, isGuarded] of makers) {
            const account = yield* Effect.promise(make)
            yield* mintPlain(plain, account.address)
            const first = yield* paid(options, account, plain, { isGuarded })
            const later = yield* paid(options, account, plain, { isGuarded })
            const money = [first.end, first.received, later.end, later.received]
            assert.deepStrictEqual(money, ["Settled", 10_000n, "Settled", 10_000n], name)
            assert.isBelow(Number(first.gasUsed), mostFirst, name)
            assert.isBelow(Number(later.gasUsed), mostLater, name)
            assert.strictEqual(yield* Effect.promise(() => client.getBalance(account)), 0n)
          }
          const account = yield* simpleOf(plain, 50n)
          yield* mint(account.address, 1_000_000n)
          assert.strictEqual((yield* paid(options, account, token.address)).received, 10_000n)
        }),
      120_000
    )

    it.effect("pays for a plain account that delegates to Simple7702Account", () =>
      Effect.gen(function* () {
        const one = yield* chain
        const { options, plain } = yield* ready
        const [, owner] = one.accounts.payers
        if (owner === undefined) return assert.fail("there is a second payer")
        yield* one.delegate(owner, SmartAccountContracts.published.simple7702)
        const account = yield* Effect.promise(() => toSimple7702SmartAccount({ client: one.client, owner }))
        yield* mintPlain(plain, account.address)
        yield* mintPlain(plain, one.accounts.payee.address)
        const { gasUsed, ...end } = yield* paid(options, account, plain)
        assert.deepStrictEqual(end, { end: "Settled", received: 10_000n })
        assert.isBelow(Number(gasUsed), 104_000)
      })
    )

    it.effect("pays by EntryPoint 0.9 too, each in a transaction of its own that a plain account sends", () =>
      Effect.gen(function* () {
        const one = yield* chain
        const { client } = one
        const { options, plain } = yield* ready
        const { simpleFactory, simpleImplementation } = yield* SmartAccountContracts.deploy09(one)
        const served = {
          ...options,
          batches: yield* settlers,
          knownFactories: [simpleFactory],
          knownImplementations: [simpleImplementation],
          userOperations: { entryPoints: ["0.8", "0.9"] }
        } as const
        const [owner, other] = one.accounts.payers
        if (other === undefined) return assert.fail("there is a second payer")
        const simple = yield* Effect.promise(() => SmartAccounts.simple(one, owner, "0.9", 0n, simpleFactory))
        for (const account of [simple, one.accounts.payee]) yield* mintPlain(plain, account.address)
        for (const most of [257_000, 109_000]) {
          const { gasUsed, ...end } = yield* paid(served, simple, plain)
          assert.deepStrictEqual(end, { end: "Settled", received: 10_000n })
          assert.isBelow(Number(gasUsed), most)
        }
        yield* one.delegate(other, SmartAccountContracts.published.simple7702For09)
        const delegated = yield* Effect.promise(() =>
          toSimple7702SmartAccount({ client, owner: other, entryPoint: "0.9" })
        )
        yield* mintPlain(plain, delegated.address)
        assert.strictEqual((yield* paid(served, delegated, plain)).end, "Settled")
        const schemeFacilitator = yield* schemeWith(served)
        const payments = yield* Effect.forEach([simple, delegated], (account) =>
          Effect.flatMap(request(account, plain), (made) => Payment.read(schemeFacilitator, made))
        )
        assert.strictEqual((yield* Batch.prepare(schemeFacilitator, payments)).count, 1)
        assert.strictEqual(yield* verdict(options, simple, plain), unsupported("operation_entry_point"))
      })
    )

    it.effect("is signed by our own client, bound to its request, and settled once by a whole facilitator", () =>
      Effect.gen(function* () {
        const { accounts, balanceOf, network } = yield* chain
        const { options, plain } = yield* ready
        const account = yield* simpleOf(plain, 60n)
        const assets = [{ network, address: plain, symbol: "PUSD", decimals: 6 }]
        const client = exactEvm.client({ account, network, assets })
        const schemeFacilitator = yield* schemeWith(options)
        const offer = yield* Payment.requirements
        const requirements = { ...offer, asset: plain, extra: { ...schemeFacilitator.extra } }
        const asset = client.asset(requirements) ?? assert.fail("the client knows the token")
        assert.isUndefined(client.objection?.(requirements, asset))
        assert.isDefined(client.objection?.({ ...requirements, extra: {} }, asset))
        const validBefore = Number(yield* Payment.latestTime) + 60
        const { binding } = Payment.bound()
        const signed = yield* client.sign({ requirements, asset, validAfter: 0, validBefore, binding })
        const { userOperations, plain: _, ...rest } = options
        const { settle } = yield* Payment.facilitatorOf({ ...rest, userOperations }, assets)
        const before = yield* balanceOf(accounts.payee.address, plain)
        const paymentPayload = PaymentPayload.sealPayload("exact", network, signed.payload)
        const made = { paymentPayload, paymentRequirements: requirements }
        assert.strictEqual(yield* Payment.outcome(settle(made, Payment.claim("operation"))), "ok")
        assert.strictEqual(yield* Payment.outcome(settle(made, Payment.claim("operation"))), "ok")
        assert.strictEqual(yield* balanceOf(accounts.payee.address, plain), before + 10_000n)
        const payment = yield* Payment.read(schemeFacilitator, made)
        assert.strictEqual(payment.authorization.nonce, signed.nonce)
        assert.strictEqual(payment.authorization.validBefore, validBefore)
        assert.deepStrictEqual(payment.authorization.binding, binding)
      })
    )

    it.effect("is refused without a request to the node where its bytes are not exactly one guarded transfer", () =>
      Effect.gen(function* () {
        const { accounts } = yield* chain
        const { options, plain } = yield* ready
        const account = yield* simpleOf(plain, 1n)
        const now = yield* Payment.latestTime
        const check = encodeFunctionData({ abi: guardAbi, functionName: "check", args: [now + 60n, pad("0x01")] })
        const transfer = encodeFunctionData({
          abi: erc20Abi,
          functionName: "transfer",
          args: [accounts.payee.address, 10_000n]
        })
        const guard = { to: paymentGuardAddress as Address, data: check }
        const pay = { to: plain, data: transfer }
        const mode = (first: string) =>
          encodeFunctionData({
            abi: parseAbi(["function execute(bytes32 mode, bytes data)"]),
            args: [
              pad(`0x${first}`, { dir: "right" }),
              encodeAbiParameters(parseAbiParameters("(address, uint256, bytes)[]"), [
                [guard, pay].map(({ data, to }) => [to, 0n, data] as const)
              ])
            ]
          })
        const cases: ReadonlyArray<readonly [string, OperationDeviation, string]> = [
          ["two transfers", { calls: [guard, pay, pay] }, "operation_calls"],
          ["the transfer first", { calls: [pay, guard] }, "operation_calls"],
          ["no guard", { calls: [pay] }, "operation_calls"],
          ["another guard", { calls: [{ ...guard, to: plain }, pay] }, "operation_guard"],
          ["coin", { calls: [guard, { ...pay, value: 1n }] }, "operation_calls"],
          ["a longer transfer", { calls: [guard, { ...pay, data: `${transfer}00` }] }, "operation_calls"],
          ["an approval", { calls: [guard, { ...pay, data: `0x095ea7b3${transfer.slice(10)}` }] }, "operation_calls"],
          ["no calls", { callData: "0x" }, "operation_calls"],
          ["try mode (ERC-7579)", { callData: mode("0101") }, "operation_calls"],
          ["delegate call (ERC-7579)", { callData: mode("ff") }, "operation_calls"],
          ["a gas price", { fields: { maxFeePerGas: 1n } }, "operation_gas_price"],
          ["a priority fee", { fields: { maxPriorityFeePerGas: 1n } }, "operation_gas_price"],
          ["preVerificationGas", { fields: { preVerificationGas: 1n } }, "operation_gas_price"],
          ["a paymaster", { fields: { paymaster: plain } }, "operation_paymaster"],
          ["a paymaster's data", { fields: { paymasterData: "0x12" } }, "operation_paymaster"],
          ["much verification gas", { fields: { verificationGasLimit: 650_001n } }, "operation_verification_gas"],
          ["much call gas", { fields: { callGasLimit: 160_001n } }, "operation_call_gas"],
          ["a long signature", { fields: { signature: `0x${"ab".repeat(1025)}` } }, "operation_signature_length"],
          [
            "much calldata of a factory",
            { fields: { factoryData: `0x${"ab".repeat(1025)}` } },
            "operation_factory_length"
          ],
          ["calldata without a factory", { fields: { factory: undefined } }, "operation_factory_missing"]
        ]
        const schemeFacilitator = yield* schemeWith(options)
        for (const [name, deviation, rule] of cases) {
          const made = yield* request(account, plain, deviation)
          assert.strictEqual(yield* Payment.outcome(Payment.read(schemeFacilitator, made)), unsupported(rule), name)
        }
        const wide = { fields: { nonce: 1n << 256n } }
        const outcome = Payment.read(schemeFacilitator, yield* request(account, plain, wide))
        assert.match(yield* Payment.outcome(outcome), /payload_fields|operation_nonce/)
      })
    )

    it.effect(
      "is refused where the operator does not serve it: EntryPoint, factory, amount, deployment, all of them",
      () =>
        Effect.gen(function* () {
          const { accounts } = yield* chain
          const { options, plain } = yield* ready
          const account = yield* simpleOf(plain, 2n)
          const { counterfactualSettler: _, ...noSettler } = options
          const refusals = [
            [{ ...options, userOperations: { entryPoints: ["0.7"] } }, {}, "operation_entry_point"],
            [{ ...options, userOperations: { minimumAmount: 10_001n } }, {}, "operation_minimum"],
            [noSettler, {}, "operation_undeployed"],
            [options, { fields: { factory: accounts.stranger.address } }, "operation_factory"]
          ] as const
          for (const [served, deviation, rule] of refusals)
            assert.strictEqual(yield* verdict(served, account, plain, deviation), unsupported(rule))
          const { userOperations: __, ...none } = options
          assert.strictEqual(yield* verdict(none, account, plain), unsupported("operation_unserved"))
          const elsewhere = { ...account, entryPoint: { ...account.entryPoint, address: plain } } as SmartAccount
          assert.strictEqual(yield* verdict(options, elsewhere, plain), unsupported("operation_entry_point"))
        })
    )

    it.effect("is refused by its simulation: signature, nonce, balance, validity, gas", () =>
      Effect.gen(function* () {
        const { accounts } = yield* chain
        const { options, plain } = yield* ready
        const account = yield* simpleOf(plain, 3n)
        const key = 1n << 100n
        assert.strictEqual((yield* paid(options, account, plain, { key })).end, "Settled")
        const now = yield* Payment.latestTime
        const stranger = yield* Effect.promise(() => accounts.stranger.sign({ hash: pad("0x12") }))
        const cases: ReadonlyArray<readonly [OperationDeviation, string]> = [
          [{ key }, "already_used nonce_used"],
          [{ key, sequence: 2n }, unsupported("operation_nonce")],
          [{ fields: { signature: stranger } }, "INVALID_SIGNATURE account_refused"],
          [{ value: 1_000_001n }, "INSUFFICIENT_BALANCE balance_below_amount"],
          [{ validBefore: now - 5n }, "EXPIRED_PAYMENT expired"],
          [{ signed: { callGasLimit: 20_000n } }, unsupported("operation_refused")],
          [{ signed: { verificationGasLimit: 9_000n } }, unsupported("operation_refused")]
        ]
        for (const [deviation, expected] of cases)
          assert.strictEqual(yield* verdict(options, account, plain, deviation), expected)
        assert.strictEqual((yield* paid(options, account, plain, { key, sequence: 1n })).end, "Settled")
      })
    )

    it.effect("is verified while one signer has too little coin, and not where none has enough", () =>
      Effect.gen(function* () {
        const { accounts, client, setBalance } = yield* chain
        const { options, plain } = yield* ready
        const account = yield* swaying(plain, 0, 0n)
        const [one, other] = accounts.signers
        const any = { ...options, contractPayers: "any", signer: [one, other] } as const
        const owned = yield* Effect.forEach([one, other], (signer) => Effect.promise(() => client.getBalance(signer)))
        yield* setBalance(one.address, 1_000n)
        assert.strictEqual(yield* verdict(any, account, plain), "ok")
        yield* setBalance(other.address, 1_000n)
        assert.strictEqual(yield* verdict(any, account, plain), "ChainUnavailable")
        for (const [index, { address }] of [one, other].entries()) yield* setBalance(address, owned[index] ?? 0n)
        assert.strictEqual(yield* verdict(any, account, plain), "ok")
      })
    )

    it.effect("of a Safe is refused without an end of its validity, and once that is over", () =>
      Effect.gen(function* () {
        const one = yield* chain
        const { options, plain } = yield* ready
        const now = Number(yield* Payment.latestTime)
        for (const [validUntil, expected] of [
          [0, unsupported("operation_endless")],
          [now - 5, "EXPIRED_PAYMENT expired"]
        ] as const) {
          const safe = yield* Effect.promise(() => SmartAccounts.safe(one, one.accounts.payers[0], { validUntil }))
          yield* mintPlain(plain, safe.address)
          assert.strictEqual(yield* verdict(options, safe, plain, { isGuarded: false }), expected)
        }
        const lasting = yield* Effect.promise(() =>
          SmartAccounts.safe(one, one.accounts.payers[0], { validUntil: now + 600 })
        )
        const any = { ...options, contractPayers: "any" } as const
        assert.strictEqual(yield* verdict(any, lasting, plain, { isGuarded: false }), unsupported("operation_endless"))
      })
    )

    it.effect("of an account whose code is unknown is refused, and hostile code is found out where any may pay", () =>
      Effect.gen(function* () {
        const { accounts, client } = yield* chain
        const { options, plain } = yield* ready
        const any = { ...options, contractPayers: "any" } as const
        const { number, timestamp } = yield* Effect.promise(() => client.getBlock())
        const thief = BigInt(accounts.stranger.address)
        const cases = [
          ["good", 0, 0n, /^ok$/],
          ["gas price", 1, 0n, /INVALID_SIGNATURE|operation_refused/],
          ["block", 3, number + 20n, /payer_code_sways/],
          ["time", 4, timestamp + 30n, /payer_code_sways/],
          ["pays another", 6, thief, /operation_refused/],
          ["pays twice", 7, 0n, /operation_refused/],
          ["pays nobody", 8, 0n, /operation_refused/],
          ["return bomb", 9, 0n, /^ok$|operation_refused/]
        ] as const
        for (const [name, mode, fact, expected] of cases) {
          const account = yield* swaying(plain, mode, fact)
          assert.match(yield* verdict(any, account, plain, { validBefore: timestamp + 600n }), expected, name)
          assert.match(
            yield* verdict(options, account, plain),
            /payer_code_unknown|INVALID_SIGNATURE|operation_refused/,
            name
          )
        }
        // It burns the rest of its gas once it has paid: no more than the caps.
        const burner = yield* swaying(plain, 5, 0n)
        const { end, gasUsed } = yield* paid(any, burner, plain)
        assert.strictEqual(end, "Settled")
        assert.isBelow(Number(gasUsed), 280_000)
      })
    )
  })
})

const incrementAbi = parseAbi(["function incrementNonce(uint192 key)"])

describe("a user operation that fails between its verification and its block", () => {
  layer(EvmTestChain.layer({ payers: 6 }), { excludeTestServices: true })((it) => {
    const grief = Effect.fnUntraced(function* (
      salt: bigint,
      attack: (
        account: SmartAccount,
        plain: Address,
        key: bigint
      ) => Effect.Effect<bigint, never, EvmTestChain.EvmTestChain>
    ) {
      const { accounts, balanceOf } = yield* chain
      const { options, plain } = yield* ready
      const account = yield* simpleOf(plain, salt)
      assert.strictEqual((yield* paid(options, account, plain)).end, "Settled")
      const key = salt << 64n
      const { payment, schemeFacilitator } = yield* read(options, account, plain, { key })
      const before = yield* balanceOf(accounts.payee.address, plain)
      yield* schemeFacilitator.verify(payment)
      const prepared = yield* Payment.prepareAlone(schemeFacilitator, payment)
      const theirs = yield* attack(account, plain, key)
      const end = yield* Payment.sendAlone(schemeFacilitator, payment, prepared)
      const ours = (yield* receiptOf(prepared.transaction)).gasUsed
      const next = yield* Payment.read(schemeFacilitator, yield* request(account, plain, { key: key + 1n }))
      return {
        end: end._tag === "Failed" ? end.error.detail : end._tag,
        received: (yield* balanceOf(accounts.payee.address, plain)) - before,
        next: yield* Payment.outcome(schemeFacilitator.verify(next)),
        theirs,
        ours
      }
    })

    it.effect("by its nonce, used up without an operation, costs little, and its payer is banned", () =>
      Effect.gen(function* () {
        const { ours, theirs, ...end } = yield* grief(10n, (account, _, key) =>
          byOwner(account, account.entryPoint.address, encodeFunctionData({ abi: incrementAbi, args: [key] }))
        )
        assert.deepStrictEqual(end, {
          end: "operation_nonce_burnt",
          received: 0n,
          next: unsupported("account_banned")
        })
        assert.isAbove(Number(theirs), 50_000)
        assert.isBelow(Number(ours), 90_000)
      })
    )

    it.effect("by its balance, moved away, costs no more than an operation, and its payer is banned", () =>
      Effect.gen(function* () {
        const { accounts } = yield* chain
        const { ours, theirs, ...end } = yield* grief(11n, (account, plain) =>
          byOwner(account, plain, encodeFunctionData({ abi: erc20Abi, args: [accounts.stranger.address, 985_000n] }))
        )
        assert.deepStrictEqual(end, { end: "operation_failed", received: 0n, next: unsupported("account_banned") })
        assert.isAbove(Number(theirs), 50_000)
        assert.isBelow(Number(ours), 110_000)
      })
    )

    it.effect("because its block is past its validity is its payer's fault no more than its code's", () =>
      Effect.gen(function* () {
        const { setNextBlockTimestamp } = yield* chain
        const { options, plain } = yield* ready
        const account = yield* swaying(plain, 0, 0n)
        const any = { ...options, contractPayers: "any" } as const
        const { payment, schemeFacilitator } = yield* read(any, account, plain)
        yield* schemeFacilitator.verify(payment)
        const prepared = yield* Payment.prepareAlone(schemeFacilitator, payment)
        yield* setNextBlockTimestamp(BigInt(payment.authorization.validBefore))
        const end = yield* Payment.sendAlone(schemeFacilitator, payment, prepared)
        const concluded = yield* schemeFacilitator.conclude({ payment, since: prepared.head })
        const reasons = [
          end._tag === "Failed" ? end.error : assert.fail(end._tag),
          (concluded._tag === "Unused" && concluded.reason) || assert.fail(concluded._tag)
        ]
        for (const reason of reasons)
          assert.strictEqual(yield* Payment.outcome(Effect.fail(reason)), "EXPIRED_PAYMENT operation_expired")
        const next = yield* Payment.read(schemeFacilitator, yield* request(account, plain))
        assert.strictEqual(yield* Payment.outcome(schemeFacilitator.verify(next)), "ok")
      })
    )

    it.effect("because its code knows the block's producer costs no more than its limits, and bans that code", () =>
      Effect.gen(function* () {
        const { accounts, request: ask } = yield* chain
        const { options, plain } = yield* ready
        const any = { ...options, contractPayers: "any" } as const
        const producer = accounts.stranger.address
        const account = yield* swaying(plain, 2, BigInt(producer))
        const twin = yield* swaying(plain, 2, BigInt(producer))
        assert.match(yield* verdict(options, account, plain), /payer_code_unknown/)
        const { payment, schemeFacilitator } = yield* read(any, account, plain)
        yield* schemeFacilitator.verify(payment)
        const prepared = yield* Payment.prepareAlone(schemeFacilitator, payment)
        yield* ask("anvil_setCoinbase", [producer])
        const end = yield* Payment.sendAlone(schemeFacilitator, payment, prepared)
        yield* ask("anvil_setCoinbase", ["0x0000000000000000000000000000000000000000"])
        assert.strictEqual(end._tag, "Failed")
        assert.isBelow(Number((yield* receiptOf(prepared.transaction)).gasUsed), 90_000)
        for (const banned of [account, twin]) {
          const next = yield* Payment.read(schemeFacilitator, yield* request(banned, plain))
          const outcome = yield* Payment.outcome(schemeFacilitator.verify(next))
          assert.match(outcome, /^unsupported_authorization (?:account|code)_banned$/)
        }
      })
    )

    it.effect("because a stranger deploys its account first costs the stranger more, and does not ban the payer", () =>
      Effect.gen(function* () {
        const { accounts, send } = yield* chain
        const { contracts, options, plain } = yield* ready
        const one = yield* chain
        const account = yield* Effect.promise(() => SmartAccounts.solady(one, contracts, accounts.payers[0], "0x77"))
        yield* mintPlain(plain, account.address)
        const { payment, schemeFacilitator } = yield* read(options, account, plain)
        yield* schemeFacilitator.verify(payment)
        const prepared = yield* Payment.prepareAlone(schemeFacilitator, payment)
        const { factory, factoryData = "0x" } = yield* Effect.promise(() => account.getFactoryArgs())
        const { gasUsed: theirs } = yield* send({
          from: accounts.stranger.address,
          to: factory ?? plain,
          data: factoryData
        })
        const end = yield* Payment.sendAlone(schemeFacilitator, payment, prepared)
        if (end._tag !== "Failed") return assert.fail(end._tag)
        assert.strictEqual(end.error.detail, "account_deployed")
        assert.isBelow(Number((yield* receiptOf(prepared.transaction)).gasUsed), Number(theirs))
        const again = yield* Payment.read(schemeFacilitator, yield* request(account, plain))
        assert.strictEqual(yield* Payment.outcome(schemeFacilitator.verify(again)), "ok")
      })
    )

    it.effect("is settled, where a stranger brings it to the EntryPoint first", () =>
      Effect.gen(function* () {
        const { accounts, balanceOf, send } = yield* chain
        const { options, plain } = yield* ready
        const account = yield* simpleOf(plain, 12n)
        const { payment, schemeFacilitator } = yield* read(options, account, plain)
        const before = yield* balanceOf(accounts.payee.address, plain)
        yield* schemeFacilitator.verify(payment)
        const prepared = yield* Payment.prepareAlone(schemeFacilitator, payment)
        const { data, to } = parseTransaction(EvmHex.fromTrusted(prepared.bytes))
        yield* send({ from: accounts.stranger.address, to: to ?? plain, data: data ?? "0x" })
        const end = yield* Payment.sendAlone(schemeFacilitator, payment, prepared)
        assert.deepInclude(end, { _tag: "Settled", external: true })
        assert.strictEqual(yield* balanceOf(accounts.payee.address, plain), before + 10_000n)
      })
    )
  })
})
