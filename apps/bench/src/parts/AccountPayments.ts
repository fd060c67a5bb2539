/**
 * The gas of a payment by account, way to pay and number of payments at once, and the CPU time of its verification: of the first
 * payment, which deploys the account or delegates it, and of a later one. All are in the same token.
 */
import { Binding, type Payment, type PaymentFailure, type SchemeFacilitator, type SigningFailed } from "@pontage/core"
import {
  deployBatchSettler,
  deployCounterfactualSettler,
  deployOpSettler,
  deployPaymentGuard,
  deployPermitSettler,
  EvmCrypto,
  EvmNetwork,
  type EvmSigner,
  exactEvm
} from "@pontage/evm"
import * as BestCrypto from "@pontage/evm/crypto"
import {
  type Anvil,
  type EvmTestAccounts,
  EvmTestChain,
  Permit2Contracts,
  SmartAccountContracts,
  SmartAccounts
} from "@pontage/evm/testing"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { isAddress, isHash } from "viem"
import { toSimple7702SmartAccount } from "viem/account-abstraction"

import type { Row } from "../Row.ts"

type Failure = Anvil.AnvilFailed | PaymentFailure | SigningFailed

const sizes = [1, 10, 25, 50]
const payers = sizes.reduce((sum, size) => sum + size, 0)
/** 1,000 dollars. */
const balance = 1_000_000_000n

/** A kind of account: how one is made of a key, and how it is called. */
interface Kind {
  readonly name: string
  readonly isBatched: boolean
  /** Whether its first payment deploys or delegates it. */
  readonly isMade: boolean
  readonly make: (chain: EvmTestChain.Shape, owner: EvmTestAccounts.TestAccount) => Promise<EvmSigner.EvmSigner>
  /** The most gas that its later payments may use, 25 at once. */
  readonly target?: number
  /** Whether it has approved Permit2, and pays by it. */
  readonly isByPermit2?: boolean
}

const pays = "userOperations"

const kinds: ReadonlyArray<Kind> = [
  {
    name: "plain account by EIP-3009",
    isBatched: true,
    isMade: false,
    make: async (_, owner) => owner,
    target: 49_000
  },
  {
    name: "plain account by Permit2",
    isBatched: true,
    isMade: false,
    make: async (_, owner) => owner,
    isByPermit2: true
  },
  {
    name: "SimpleAccount 0.8",
    isBatched: true,
    isMade: true,
    make: async (chain, owner) => exactEvm.smartAccount(await SmartAccounts.simple(chain, owner, "0.8"), { pays })
  },
  {
    name: "SimpleAccount 0.7",
    isBatched: true,
    isMade: true,
    make: async (chain, owner) => exactEvm.smartAccount(await SmartAccounts.simple(chain, owner, "0.7"), { pays })
  },
  {
    name: "Safe 1.4.1",
    isBatched: true,
    isMade: true,
    make: async (chain, owner) => exactEvm.smartAccount(await SmartAccounts.safe(chain, owner), { pays })
  },
  {
    name: "Simple7702Account",
    isBatched: true,
    isMade: true,
    make: async ({ client }, owner) =>
      exactEvm.smartAccount(await toSimple7702SmartAccount({ client, owner }), { pays })
  },
  {
    name: "Safe 1.4.1 by EIP-3009",
    isBatched: false,
    isMade: true,
    make: async (chain, owner) => exactEvm.smartAccount(await SmartAccounts.safe(chain, owner, { salt: 1n }))
  }
]

/** Two rows for each kind and size, and one for the verification, each kind on the same chain. */
export const measure: Effect.Effect<ReadonlyArray<Row>, Failure, Scope.Scope> = Effect.gen(function* () {
  const chain = yield* EvmTestChain.make({ payers })
  const scheme = yield* facilitatorOn(chain)
  yield* chain.mint(chain.accounts.payee.address, 1n)
  return (yield* Effect.forEach(kinds, (kind) => rowsOf(chain, scheme, kind))).flat()
})

const facilitatorOn = Effect.fnUntraced(function* (chain: EvmTestChain.Shape) {
  yield* SmartAccountContracts.deploy(chain)
  yield* Permit2Contracts.deploy(chain)
  const deployment = { signer: chain.accounts.deployer, rpcUrl: chain.rpcUrl }
  yield* deployPaymentGuard(deployment)
  const batches = {
    settler: yield* deployBatchSettler(deployment),
    operationSettler: yield* deployOpSettler(deployment),
    permitSettler: yield* deployPermitSettler(deployment)
  }
  const options = {
    signer: chain.accounts.signers[0],
    rpcUrl: chain.rpcUrl,
    batches,
    counterfactualSettler: yield* deployCounterfactualSettler(deployment),
    userOperations: { delegations: "known" },
    permit2: true
  } as const
  return yield* Effect.provideService(exactEvm.facilitator(options), EvmCrypto.EvmCrypto, yield* BestCrypto.make)
})

const rowsOf = Effect.fnUntraced(function* (chain: EvmTestChain.Shape, scheme: SchemeFacilitator, kind: Kind) {
  const { isBatched, isMade, name, target } = kind
  const measured = isBatched ? sizes : [1]
  const rows: Array<Row> = []
  let place = 0
  let millis = 0
  for (const size of measured) {
    const owners = chain.accounts.payers.slice(place, place + size)
    place += size
    const first = yield* Effect.forEach(owners, (owner) => paymentOf(chain, scheme, kind, owner, true))
    const gas = yield* settled(chain, scheme, first)
    if (isMade) rows.push(row(`gas of ${name}, its first payment, ${size} at once`, gas.each))
    // Made anew: a library's account keeps what it knows of its deployment.
    const later = yield* Effect.forEach(owners, (owner) => paymentOf(chain, scheme, kind, owner, false))
    const again = yield* settled(chain, scheme, later)
    millis += again.millis
    const note = target !== undefined && size >= 25 ? { note: `target at most ${target}` } : {}
    rows.push({ ...row(`gas of ${name}, a later payment, ${size} at once`, again.each), ...note })
  }
  return [
    ...rows,
    { name: `verification of ${name}`, value: millis / place, unit: "ms CPU" }
  ] satisfies ReadonlyArray<Row>
})

const row = (name: string, value: number): Row => ({ name, value, unit: "gas" })

const paymentOf = Effect.fnUntraced(function* (
  chain: EvmTestChain.Shape,
  scheme: SchemeFacilitator,
  { isByPermit2 = false, make }: Kind,
  owner: EvmTestAccounts.TestAccount,
  isFirst: boolean
) {
  const signer = yield* Effect.promise(() => make(chain, owner))
  if (isFirst && isAddress(signer.address)) yield* chain.mint(signer.address, balance)
  if (isFirst && isByPermit2) yield* Permit2Contracts.approve(chain, owner.address)
  const client = exactEvm.client({ signer, network: chain.network })
  const requirements = {
    scheme: "exact",
    network: EvmNetwork.fromChainId(chain.chainId),
    maxAmountRequired: "10000",
    resource: "https://shop.example/report",
    payTo: chain.accounts.payee.address,
    asset: chain.token.address,
    extra: { ...scheme.extra, ...(isByPermit2 && { assetTransferMethod: "permit2" }) }
  }
  const asset = client.asset(requirements)
  if (asset === undefined) return yield* Effect.die(new Error("the local chain's token is not known"))
  const binding = yield* Binding.make("a-challenge-of-forty-three-characters-of-64")
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const { payload } = yield* client.sign({ requirements, asset, validAfter: 0, validBefore: now + 600, binding })
  return yield* scheme.read(requirements, payload)
})

/** Settles payments in as few transactions as they fit into: the gas of each, and the CPU time of all verifications. */
const settled = Effect.fnUntraced(function* (
  { receipt }: EvmTestChain.Shape,
  scheme: SchemeFacilitator,
  payments: ReadonlyArray<Payment>
) {
  const start = process.cpuUsage()
  yield* Effect.forEach(payments, (payment) => scheme.verify(payment), { concurrency: 8 })
  const { system, user } = process.cpuUsage(start)
  const [lane = ""] = scheme.lanes
  let gas = 0
  let rest = payments
  while (rest.length > 0) {
    const slot = { lane, number: yield* scheme.nextSlot(lane, "known") }
    const { count, prepared } = yield* scheme.prepare(rest, slot, yield* scheme.chainHead)
    yield* scheme.submit(prepared)
    if (!isHash(prepared.transaction)) return yield* Effect.die(new Error("the transaction has no hash"))
    const { gasUsed, status } = yield* receipt(prepared.transaction)
    if (status !== "success") return yield* Effect.die(new Error("a measured transaction reverted"))
    gas += Number(gasUsed)
    rest = rest.slice(count)
  }
  return { each: gas / payments.length, millis: (user + system) / 1000 }
})
