/**
 * Payments by Permit2 beside those by authorization: their gas, and the processor time of their verification without the chain.
 */
import type { PaymentFailure, SigningFailed } from "@pontage/core"
import { EvmCrypto, EvmSignature, ExactEvm, exactEvm, EvmNetwork, Permit2 } from "@pontage/evm"
import * as BestCrypto from "@pontage/evm/crypto"
import { type Anvil, EvmTestChain, Permit2Contracts } from "@pontage/evm/testing"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { isHash } from "viem"

import * as CpuTime from "../CpuTime.ts"
import type { Row } from "../Row.ts"

type Failure = Anvil.AnvilFailed | PaymentFailure | SigningFailed

/** Verifications of one pass. */
const passes = 500

/** The rows, on a chain of their own: the payee holds the token already, and each transfer uses a word of nonces of its own. */
export const measure: Effect.Effect<ReadonlyArray<Row>, Failure, Scope.Scope> = Effect.gen(function* () {
  const chain = yield* EvmTestChain.make({ payers: 2 })
  yield* Permit2Contracts.deploy(chain)
  yield* chain.mint(chain.accounts.payee.address, 1n)
  const [approved, sponsored = approved] = chain.accounts.payers
  yield* Permit2Contracts.approve(chain, approved.address)
  const crypto = yield* BestCrypto.make
  const scheme = yield* exactEvm
    .facilitator({ signer: chain.accounts.signers[0], rpcUrl: chain.rpcUrl, permit2: true })
    .pipe(Effect.provideService(EvmCrypto.EvmCrypto, crypto))
  const gasOf = Effect.fnUntraced(function* ({ payload, requirements }: SignedPermit) {
    const payment = yield* scheme.read(requirements, payload)
    yield* scheme.verify(payment)
    const [lane = ""] = scheme.lanes
    const slot = { lane, number: yield* scheme.nextSlot(lane, "known") }
    const { prepared } = yield* scheme.prepare([payment], slot, yield* scheme.chainHead)
    yield* scheme.submit(prepared)
    if (!isHash(prepared.transaction)) return yield* Effect.die(new Error("the transaction has no hash"))
    return Number((yield* chain.receipt(prepared.transaction)).gasUsed)
  })
  const plain = yield* sign(chain, approved)
  const gas = yield* gasOf(plain)
  const gasWithApproval = yield* gasOf(yield* sign(chain, sponsored))
  const micros = yield* Effect.promise(() =>
    CpuTime.microsOf(passes, () => {
      if (!isPayers(chain.chainId, plain.payload, crypto)) throw new Error("a good payment does not verify")
    })
  )
  return [
    { name: "gas a payment by Permit2, 1 in a transaction", value: gas, unit: "gas" },
    { name: "gas a payment by Permit2 with its approval by signature", value: gasWithApproval, unit: "gas" },
    { name: `offline verify by Permit2, ${crypto.name}`, value: 1e6 / micros, unit: "per CPU s" }
  ]
})

type SignedPermit = Effect.Success<ReturnType<typeof sign>>

/** Signs as our client does, with an approval where the payer has none. */
const sign = Effect.fnUntraced(function* (
  { accounts, chainId, network, rpcUrl, token }: EvmTestChain.Shape,
  signer: (typeof accounts.payers)[number]
) {
  const schemeClient = exactEvm.client({ signer, network, rpcUrl })
  const requirements = {
    scheme: "exact",
    network: EvmNetwork.fromChainId(chainId),
    maxAmountRequired: "10000",
    resource: "https://shop.example/report",
    payTo: accounts.payee.address,
    asset: token.address,
    extra: { assetTransferMethod: "permit2", permit2: {} }
  }
  const asset = schemeClient.asset(requirements)
  if (asset === undefined) return yield* Effect.die(new Error("the local chain's token is not known"))
  const validBefore = Math.floor((yield* Clock.currentTimeMillis) / 1000) + 80
  const { payload } = yield* schemeClient.sign({ requirements, asset, validAfter: 0, validBefore, binding: undefined })
  return { payload, requirements }
})

const isPayers = (chainId: number, json: unknown, crypto: EvmCrypto.Shape): boolean => {
  const { permit2Authorization: transfer, signature } = Effect.runSync(ExactEvm.decodePermitPayload(json))
  const parsed = EvmSignature.fromText(signature)
  if (parsed._tag !== "Ecdsa") return false
  const digest = Permit2.digest(chainId, transfer, crypto.keccak256)
  return EvmSignature.recoverAddress(digest, parsed, crypto) === transfer.from
}
