import { describe, layer } from "@effect/vitest"
import { SchemeLaws } from "@pontage/core/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { toSimple7702SmartAccount } from "viem/account-abstraction"

import {
  deployBatchSettler,
  deployCounterfactualSettler,
  deployOpSettler,
  deployPaymentGuard,
  deployPermitSettler,
  EvmNetwork,
  exactEvm
} from "../src/index.ts"
import {
  CutLine,
  type EvmTestAccounts,
  EvmTestChain,
  Permit2Contracts,
  SmartAccountContracts,
  SmartAccounts
} from "../src/testing/index.ts"
import * as Payment from "./EvmTestPayment.ts"

/** Each block moves this chain's clock on by a second, so there are few. */
const finalityDepth = 2

/** How payers pay, and how their payments are settled. */
type Way =
  | "one by one"
  | "in batches"
  | "by user operations"
  | "by user operations in batches"
  | "by delegation"
  | "by accounts that are not deployed"
  | "by Permit2"
  | "by Permit2 in batches"

/** The payer with money and the one without: smart accounts of the first two payers where they pay as such. */
const payersOf = Effect.fnUntraced(function* (way: Way) {
  const chain = yield* EvmTestChain.EvmTestChain
  const { accounts, network, token } = chain
  const assets = [{ network, ...token }]
  const ofKey = (signer: EvmTestAccounts.TestAccount) => exactEvm.client({ signer, network, assets })
  const isByPermit2 = way === "by Permit2" || way === "by Permit2 in batches"
  if (isByPermit2) {
    yield* Permit2Contracts.deploy(chain)
    for (const { address } of [accounts.payers[0], accounts.stranger]) yield* Permit2Contracts.approve(chain, address)
    yield* chain.setBalance(accounts.stranger.address, 10n ** 21n)
  }
  if (way === "one by one" || way === "in batches" || isByPermit2) {
    return { payer: ofKey(accounts.payers[0]), poor: ofKey(accounts.stranger) }
  }
  yield* SmartAccountContracts.deploy(chain)
  if (way === "by delegation") {
    const delegated = (owner: EvmTestAccounts.TestAccount) =>
      Effect.map(
        Effect.promise(() => toSimple7702SmartAccount({ client: chain.client, owner })),
        (account) =>
          exactEvm.client({ signer: exactEvm.smartAccount(account, { pays: "userOperations" }), network, assets })
      )
    return { payer: yield* delegated(accounts.payers[0]), poor: yield* delegated(accounts.stranger) }
  }
  const isOperation = way === "by user operations" || way === "by user operations in batches"
  const makeAccount = (owner: EvmTestAccounts.TestAccount) =>
    Effect.promise(() => (isOperation ? SmartAccounts.simple(chain, owner, "0.8") : SmartAccounts.safe(chain, owner)))
  const [rich, poor] = [yield* makeAccount(accounts.payers[0]), yield* makeAccount(accounts.stranger)]
  yield* chain.mint(rich.address, 1_000_000_000n)
  const pays = isOperation ? ({ pays: "userOperations" } as const) : {}
  return {
    payer: exactEvm.client({ signer: exactEvm.smartAccount(rich, pays), network, assets }),
    poor: exactEvm.client({ signer: exactEvm.smartAccount(poor, pays), network, assets })
  }
})

/** The settings of a facilitator for a way to pay. */
const settingsOf = Effect.fnUntraced(function* (way: Way) {
  const { accounts, rpcUrl } = yield* EvmTestChain.EvmTestChain
  const deployment = { signer: accounts.deployer, rpcUrl }
  if (way === "in batches") return { batches: { settler: yield* deployBatchSettler(deployment) } }
  if (way === "one by one") return {}
  if (way === "by Permit2") return { permit2: true }
  if (way === "by Permit2 in batches") {
    return { permit2: true, batches: { permitSettler: yield* deployPermitSettler(deployment) } }
  }
  const counterfactualSettler = yield* deployCounterfactualSettler(deployment)
  if (way === "by accounts that are not deployed") return { counterfactualSettler }
  yield* deployPaymentGuard(deployment)
  const operations = { counterfactualSettler, userOperations: {} }
  if (way === "by delegation") return { ...operations, userOperations: { delegations: "known" } as const }
  if (way === "by user operations") return operations
  const batches = {
    settler: yield* deployBatchSettler(deployment),
    operationSettler: yield* deployOpSettler(deployment)
  }
  return { ...operations, batches }
})

/** Payers, a facilitator and a stranger's, on a chain of their own. */
const subject = Effect.fnUntraced(function* (way: Way) {
  const chain = yield* EvmTestChain.EvmTestChain
  const { accounts, token } = chain
  const assets = [{ network: chain.network, ...token }]
  const line = yield* CutLine.make(chain.rpcUrl)
  const [first, second] = accounts.signers
  const payers = yield* payersOf(way)
  const settings = yield* settingsOf(way)
  const schemeFacilitator = yield* exactEvm.facilitator({
    signer: first,
    rpcUrl: line.url,
    assets,
    finalityDepth,
    ...settings
  })
  // A batch is settled by the facilitator alone.
  const others = way === "in batches" ? {} : settings
  return SchemeLaws.Subject.of({
    ...payers,
    facilitator: schemeFacilitator,
    stranger: yield* exactEvm.facilitator({ signer: second, rpcUrl: chain.rpcUrl, assets, finalityDepth, ...others }),
    requirements: {
      scheme: "exact",
      network: EvmNetwork.fromChainId(chain.chainId),
      maxAmountRequired: "10000",
      resource: "https://shop.example/report",
      payTo: accounts.payee.address,
      asset: token.address,
      extra: { ...schemeFacilitator.extra, ...(way.startsWith("by Permit2") && { assetTransferMethod: "permit2" }) }
    },
    otherPayTo: accounts.deployer.address,
    otherAsset: accounts.stranger.address,
    otherNetwork: "eip155:1",
    received: chain.balanceOf(accounts.payee.address),
    whileDown: line.whileDown,
    finalise: (time) =>
      Effect.provideService(Payment.finalise(BigInt(time), finalityDepth), EvmTestChain.EvmTestChain, chain)
  })
})

/** Each way has a chain of its own, so the ways wait at the same time; the laws of one chain come one after another. */
describe.concurrent("the laws of a scheme, kept by exact on EVM", () => {
  for (const way of [
    "one by one",
    "in batches",
    "by user operations",
    "by user operations in batches",
    "by delegation",
    "by accounts that are not deployed",
    "by Permit2",
    "by Permit2 in batches"
  ] as const) {
    const subjectLayer = Layer.provide(Layer.effect(SchemeLaws.Subject, subject(way)), EvmTestChain.layer())
    describe(`paying ${way}`, () => {
      layer(subjectLayer, { excludeTestServices: true, concurrent: false })("on one chain", (it) => {
        for (const law of SchemeLaws.all) it.effect(law.name, () => law.effect)
      })
    })
  }
})
