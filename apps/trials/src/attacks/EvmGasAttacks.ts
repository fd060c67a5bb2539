/**
 * Attacks on the coin of a facilitator's signer: payers whose payments are good when they are verified, and refused by the
 * token when they are executed.
 */
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import { DollarToken } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { encodeFunctionData, type Hex, parseGwei } from "viem"

import type { Attack, Seen } from "./Attack.ts"
import * as Direct from "./hostile/DirectSettlement.ts"
import * as EvmSigner from "./hostile/EvmSigner.ts"
import * as HostileWallet from "./hostile/HostileWallet.ts"
import * as TokenCall from "./hostile/TokenCall.ts"
import type { SourceMutation } from "./SourceMutation.ts"
import type { AttackStage, Tenant } from "./stage/AttackStage.ts"
import type { StagedProcess } from "./stage/StagedProcess.ts"

const gangSize = 8

/** The most that a unit of gas is signed for where attacks begin: twice the base fee, and a tip. */
const highestPrice = 2n * EvmSigner.baseFee + parseGwei("2")

/** Gas that payments are sent with: of an account with code, and of a plain one. */
const gas = { contract: 400_000n, plain: 150_000n }

/** The loss limit of all payers, in wei: one caller's quarter of it covers this gas at the highest price. */
const budgetFor = (gasOfCaller: bigint): bigint => 4n * gasOfCaller * highestPrice

/** Settings that leave one caller a quarter of it, however many share it. */
const quarterOf = (budget: bigint) => ({
  PONTAGE_EVM_LOSS_BUDGET_WEI: `${budget}`,
  PONTAGE_EVM_LOSS_BUDGET_PER_CALLER_WEI: `${budget / 4n}`
})

const order = (signed: HostileWallet.Signed, to: Tenant): Direct.Order => {
  const offer = Direct.evmOffer(to)
  return { paymentPayload: HostileWallet.envelope(signed, offer), paymentRequirements: Direct.requirementsOf(offer) }
}

/** An honest payment of a plain wallet, through to its end. */
const honestly = Effect.fnUntraced(function* (
  { url }: StagedProcess,
  tenant: Tenant,
  wallet: HostileWallet.HostileWallet
) {
  const signed = yield* Effect.promise(() => wallet.sign(Direct.evmOffer(tenant)))
  return yield* Direct.settled(url, tenant, order(signed, tenant))
})

const money = 10n * BaseSepolia.amount

/** Payments of mallory's, and what turns all of them bad before the block that they are in. */
interface Gang {
  readonly payments: Effect.Effect<ReadonlyArray<HostileWallet.Signed>>
  readonly turn: Effect.Effect<void>
  readonly turnBack: Effect.Effect<void>
}

/**
 * Once: payments are brought, those that are taken are in the pool, the gang turns, and a dear block takes all of them in.
 */
const round = Effect.fnUntraced(function* (stage: AttackStage, { url }: StagedProcess, gang: Gang) {
  yield* gang.turnBack
  yield* EvmSigner.atPrice(stage)
  const payments = yield* gang.payments
  const bringing = Effect.gen(function* () {
    let answered = 0
    const fibers = yield* Effect.forEach(payments, (signed) =>
      Effect.forkChild(
        Effect.tap(Direct.settle(url, stage.mallory, order(signed, stage.mallory)), () => Effect.sync(() => answered++))
      )
    )
    const inPool = yield* Effect.repeat(EvmSigner.waiting(stage), {
      until: (count) => count + answered >= payments.length
    })
    if (inPool > 0) yield* gang.turn
    yield* EvmSigner.mineDearly(stage)
    return { inPool, fibers }
  })
  const { fibers, inPool } = yield* EvmSigner.byHand(stage, bringing)
  if (inPool === 0) return { inPool, replies: yield* Effect.forEach(fibers, (fiber) => Fiber.join(fiber)) }
  // Senders of submitted payments get no verdict before the failure is final; the cost is counted at the first observation.
  yield* Effect.sleep(firstLook)
  yield* Effect.forEach(fibers, (fiber) => Fiber.interrupt(fiber), { concurrency: "unbounded", discard: true })
  return { inPool, replies: [] }
})

const firstLook = "3 seconds"

/** Rounds until nothing of the gang's is sent any more. */
const raid = Effect.fnUntraced(function* (stage: AttackStage, facilitator: StagedProcess, gang: Gang) {
  let last = yield* round(stage, facilitator, gang)
  const counts = [last.inPool]
  while (last.inPool > 0 && counts.length < 6) {
    last = yield* round(stage, facilitator, gang)
    counts.push(last.inPool)
  }
  return { counts, replies: last.replies }
})

/** A raid between payments of an honest payer who has proven himself with mallory, and of a newcomer with the victim. */
const measured = Effect.fnUntraced(function* (stage: AttackStage, environment: Record<string, string>, gang: Gang) {
  const signer = EvmSigner.of(stage)
  yield* EvmSigner.atPrice(stage)
  const facilitator = yield* stage.facilitator({
    PONTAGE_EVM_SIGNER_KEY: signer.privateKey,
    PONTAGE_SETTLE_TIMEOUT_MS: "60000",
    ...environment
  })
  const [proven, newcomer] = [yield* stage.wallet(money), yield* stage.wallet(money)]
  const before = yield* honestly(facilitator, stage.mallory, proven)
  const balance = yield* signer.balance
  const sent = yield* signer.sent
  const means = yield* EvmSigner.strangersBalance(stage)
  const { counts, replies } = yield* raid(stage, facilitator, gang)
  const lost = balance - (yield* signer.balance)
  const count = (yield* signer.sent) - sent
  const spent = means - (yield* EvmSigner.strangersBalance(stage))
  yield* EvmSigner.atPrice(stage)
  const others = [
    before,
    yield* honestly(facilitator, stage.mallory, proven),
    yield* honestly(facilitator, stage.victim, newcomer)
  ]
  return { lost, spent, count, counts, replies, others, isServedOn: others.every(Direct.isSettled) }
})

type Measured = Effect.Success<ReturnType<typeof measured>>

const seenIn = ({ count, lost, others, replies, spent }: Measured, held: boolean, budget: bigint): Seen => ({
  held,
  seen: `${count} of ${gangSize} sent in all, then ${Direct.countsOf(replies)}; honest payers before and after ${others.map(Direct.wordOf).join(", ")}`,
  attackerCost: `${spent} wei for its own transactions`,
  targetCost: `${lost} wei of ${budget} that one caller may lose`
})

/**
 * Code that accepts any signature as long as the trigger owns nothing, and burns all gas once it does; the salt makes it
 * unlike any other's.
 */
const burnerCode = (trigger: Hex, salt: number): Hex => {
  const accept = "631626ba7e60e01b60005260206000f3"
  const tail = salt.toString(16).padStart(8, "0")
  const runtime = `73${trigger.slice(2).toLowerCase()}31602957${accept}5bfe${tail}`
  const size = (runtime.length / 2).toString(16).padStart(4, "0")
  return `0x61${size}600e60003961${size}6000f3${runtime}`
}

const mint = ({ chain: { node } }: AttackStage, to: Hex) =>
  node.send({
    to: BaseSepolia.token,
    data: encodeFunctionData({ abi: DollarToken.abi, functionName: "mint", args: [to, money] })
  })

/** Accounts with hostile code. They sign nothing: their code takes anything for a signature. */
const burners = Effect.fnUntraced(function* (stage: AttackStage) {
  const { node } = stage.chain
  const trigger = HostileWallet.make().address
  const accounts = yield* Effect.forEach(
    Array.from({ length: gangSize }, (_, salt) => ({ abi: [], bytecode: burnerCode(trigger, salt) })),
    (artifact) => Effect.tap(node.deploy(artifact), (account) => mint(stage, account))
  )
  const payments = Effect.forEach(accounts, (from) =>
    Effect.promise(async (): Promise<HostileWallet.Signed> => {
      const { authorization } = await HostileWallet.make().sign(Direct.evmOffer(stage.mallory))
      return { signature: "0x12", authorization: { ...authorization, from } }
    })
  )
  return {
    payments,
    turn: EvmSigner.sendFirst(stage, { to: trigger, value: 1n }),
    turnBack: node.setBalance(trigger, 0n)
  } satisfies Gang
})

const anyCode: SourceMutation = [
  {
    module: "schemes/evm/src/exact/ContractPayers",
    piece: "EvmKnownCode.isKnown(known, account, code)",
    instead: "(known !== undefined)"
  }
]

const nothingReserved: SourceMutation = [
  { module: "schemes/evm/src/sending/EvmLosses", piece: "amount: gas * price }", instead: "amount: gas * 0n }" }
]

const unknownCode: Attack = {
  name: "hostile-contract-payers",
  what: `${gangSize} accounts with code of their own accept any signature in a simulation, and burn all gas in the transaction`,
  expected: "with the usual settings nothing is sent for them, and honest payers are served on",
  targets: ["pontage"],
  mutation: anyCode,
  run: Effect.fnUntraced(function* (stage) {
    const seen = yield* measured(stage, {}, yield* burners(stage))
    const isUnknown = seen.replies.every((reply) => Direct.wordOf(reply) === "payer_code_unknown")
    return seenIn(seen, isUnknown && seen.count === 0 && seen.lost === 0n && seen.isServedOn, 0n)
  })
}

const anyContract: Attack = {
  name: "hostile-contract-payers-anywhere",
  what: `the same ${gangSize} accounts where the operator takes any code, in rounds until nothing is sent for them`,
  expected: "their caller's quarter of the loss budget is not exceeded, proven payers and other callers are served on",
  targets: ["pontage"],
  mutation: nothingReserved,
  run: Effect.fnUntraced(function* (stage) {
    const budget = budgetFor((5n * gas.contract) / 2n)
    const environment = { PONTAGE_EVM_CONTRACT_PAYERS: "any", ...quarterOf(budget) }
    const seen = yield* measured(stage, environment, yield* burners(stage))
    const isTried = seen.lost > 0n && seen.counts.at(-1) === 0
    return seenIn(seen, isTried && seen.lost <= budget / 4n && seen.isServedOn, budget / 4n)
  })
}

/** Plain wallets, each with the money of one payment, which a stranger moves away for them. */
const emptying = Effect.fnUntraced(function* (stage: AttackStage) {
  const { node } = stage.chain
  const wallets = yield* Effect.forEach(Array.from({ length: gangSize }), () => stage.wallet(BaseSepolia.amount))
  const away = { ...Direct.evmOffer(stage.mallory), payTo: node.accounts.deployer.address }
  const refill = Effect.fnUntraced(function* ({ address }: HostileWallet.HostileWallet) {
    const missing = BaseSepolia.amount - (yield* stage.chain.balanceOf(address))
    const data = encodeFunctionData({ abi: DollarToken.abi, functionName: "mint", args: [address, missing] })
    if (missing > 0n) yield* node.send({ to: BaseSepolia.token, data })
  })
  return {
    payments: Effect.forEach(wallets, (wallet) => Effect.promise(() => wallet.sign(Direct.evmOffer(stage.mallory)))),
    turn: Effect.forEach(
      wallets,
      (wallet) =>
        Effect.flatMap(
          Effect.promise(() => wallet.sign(away)),
          (signed) => EvmSigner.sendFirst(stage, { to: BaseSepolia.token, data: TokenCall.of(signed) })
        ),
      { discard: true }
    ),
    turnBack: Effect.forEach(wallets, refill, { discard: true })
  } satisfies Gang
})

const emptyingPayers: Attack = {
  name: "emptying-payers",
  what: `${gangSize} plain payers move their money away right before their payments, in rounds until nothing is sent for them`,
  expected:
    "their caller's quarter of the loss budget is not exceeded, who did it is banned, proven payers and other callers are served on",
  targets: ["pontage"],
  mutation: nothingReserved,
  run: Effect.fnUntraced(function* (stage) {
    const budget = budgetFor((3n * gas.plain) / 2n)
    const seen = yield* measured(stage, quarterOf(budget), yield* emptying(stage))
    const banned = seen.replies.filter((reply) => Direct.wordOf(reply) === "account_banned").length
    const isTried = seen.lost > 0n && seen.counts.at(-1) === 0
    return seenIn(seen, isTried && banned === seen.count && seen.lost <= budget / 4n && seen.isServedOn, budget / 4n)
  })
}

export const attacks: ReadonlyArray<Attack> = [unknownCode, anyContract, emptyingPayers]
