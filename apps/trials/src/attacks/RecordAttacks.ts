/**
 * Attacks with payments on record: a tenant of the facilitator shows a payment to itself at another tenant's shop, or looks
 * at another tenant's records.
 */
import { createHash, randomBytes } from "node:crypto"

import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { Attack } from "./Attack.ts"
import * as HostileCall from "./hostile/HostileCall.ts"
import * as HostileWallet from "./hostile/HostileWallet.ts"
import type { Replacement, SourceMutation } from "./SourceMutation.ts"
import type { AttackStage, Tenant } from "./stage/AttackStage.ts"

const bearer = ({ key }: Tenant) => ({ authorization: `Bearer ${key}` })
const newClaimId = () => randomBytes(16).toString("base64url")

const Settled = Schema.Struct({ paymentId: Schema.String, success: Schema.Boolean })
const decodeSettled = Schema.decodeUnknownSync(Schema.fromJsonString(Settled))

/** The terms of an offer in Pontage's own form. */
const requirementsOf = (offer: HostileWallet.Offer) => ({
  scheme: offer.scheme,
  network: offer.network,
  maxAmountRequired: offer.amount,
  resource: "https://mallory.example/",
  payTo: offer.payTo,
  asset: offer.asset,
  maxTimeoutSeconds: offer.maxTimeoutSeconds,
  extra: offer.extra
})

/** A payment of one unit from mallory's wallet to mallory. */
const toHerself = Effect.fnUntraced(function* ({ mallory, wallet }: AttackStage, dear: HostileWallet.Offer) {
  const payer = yield* wallet(1n)
  const offer = { ...dear, amount: "1", payTo: mallory.payTo }
  return { offer, signed: yield* Effect.promise(() => payer.sign(offer, randomBytes(32).toString("base64url"))) }
})

const verdictOf = (stage: AttackStage, reply: HostileCall.Reply) =>
  Effect.map(stage.chain.balanceOf(stage.victim.payTo), (balance) => ({
    held:
      (reply.status === 409 && reply.text.includes("already_used")) ||
      (reply.status === 402 && /"(?:INVALID_RECIPIENT|binding_mismatch)"/.test(reply.text)),
    seen: `${reply.status}, the victim has ${balance} units`,
    attackerCost: "1 unit, to herself",
    targetCost: HostileCall.isServed(reply) ? "a product of $500" : "nothing"
  }))

/** The comparison with the record, in the core and in the gate. */
const everyComparison: ReadonlyArray<Replacement> = [
  {
    module: "core/src/facilitator/store/Presentation",
    piece: "all.every((agrees) => agrees(presented, known))",
    instead: "presented.authorization.nonce === known.authorization.nonce"
  },
  { module: "core/src/server/PaidRequest", piece: "difference === undefined", instead: "true" },
  {
    module: "core/src/facilitator/remote/FacilitatorResponse",
    piece: "isEnough ? undefined",
    instead: "isEnough || true ? undefined"
  },
  {
    module: "core/src/server/request/ShopInspection",
    piece: "schemeServer.inspect === undefined",
    instead: "schemeServer.inspect !== null"
  }
]

const withUnkeyedClaims: SourceMutation = [
  {
    module: "core/src/server/offer/ClaimedResource",
    piece: "KeyedDigest.remembered(signer, [purpose, signer.origin, method, target, bodyDigest ?? null])",
    instead:
      "Effect.map(signer.hash.sha256(new TextEncoder().encode(`${signer.origin}\\n${method}\\n${target}`)), (bytes) => Buffer.from(bytes).toString('base64url'))"
  },
  ...everyComparison
]

const preparedRecord: Attack = {
  name: "prepared-record",
  what: "a tenant settles one unit to herself under the victim's resource and shows that payment at the victim's shop",
  expected: "refused: the record is of another payee, amount and caller",
  targets: ["pontage"],
  mutation: withUnkeyedClaims,
  run: Effect.fnUntraced(function* (stage) {
    const facilitator = yield* stage.usualFacilitator
    const shop = yield* stage.usualShop
    const dear = yield* HostileCall.offerAt(`${shop.url}/product`)
    const { offer, signed } = yield* toHerself(stage, dear)
    const resource = createHash("sha256").update(`${shop.url}\nGET\n/product`).digest("base64url")
    const claim = { id: newClaimId(), resource }
    const body = {
      protocolVersion: 2,
      paymentPayload: HostileWallet.envelope(signed, offer),
      paymentRequirements: requirementsOf(offer),
      claim
    }
    const first = yield* HostileCall.send(`${facilitator.url}/settle`, HostileCall.posting(body, bearer(stage.mallory)))
    const { paymentId, success } = decodeSettled(first.text)
    if (!success) return yield* Effect.die(new Error(`her own payment was not settled: ${first.text}`))
    const end = { claimId: claim.id, outcome: "notRun" }
    yield* HostileCall.send(
      `${facilitator.url}/payments/${paymentId}/finish`,
      HostileCall.posting(end, bearer(stage.mallory))
    )
    const reply = yield* HostileCall.send(`${shop.url}/product`, { headers: HostileWallet.inOurs(signed, offer) })
    return yield* verdictOf(stage, reply)
  })
}

const owedAnswer: Attack = {
  name: "owed-answer",
  what: "a tenant settles one unit to herself, hangs up, and has the answer she is owed given for an offer of $500",
  expected: "refused: an owed answer is of the offer it was asked for",
  targets: ["pontage"],
  mutation: [everyComparison[0] ?? withUnkeyedClaims[0]],
  run: Effect.fnUntraced(function* (stage) {
    const facilitator = yield* stage.facilitator({ PONTAGE_SETTLE_TIMEOUT_MS: "1000" })
    const shop = yield* stage.shop(facilitator.url)
    const dear = yield* HostileCall.offerAt(`${shop.url}/product`)
    const { offer, signed } = yield* toHerself(stage, dear)
    const payload = { signature: signed.signature, authorization: signed.authorization }
    const asking = (accepted: HostileWallet.Offer) => ({
      x402Version: 2,
      paymentPayload: { x402Version: 2, accepted: { ...accepted, amount: offer.amount, payTo: offer.payTo }, payload },
      paymentRequirements: accepted
    })
    const ask = (path: string, accepted: HostileWallet.Offer, tenant: Tenant) =>
      HostileCall.send(`${facilitator.url}${path}`, HostileCall.posting(asking(accepted), bearer(tenant)))
    const { client } = stage.chain.node
    yield* Effect.promise(() => client.setAutomine(false))
    yield* ask("/settle", offer, stage.mallory)
    yield* Effect.promise(() => client.setAutomine(true))
    yield* Effect.promise(() => client.mine({ blocks: 1 }))
    const replies = yield* Effect.forEach(["/verify", "/settle"], (path) => ask(path, dear, stage.victim))
    const isGood = replies.some(({ text }) => /"(?:isValid|success)":true/.test(text))
    return {
      held: !isGood,
      seen: replies.map(({ status, text }) => `${status} ${text.slice(0, 60)}`).join("; "),
      attackerCost: "1 unit, to herself",
      targetCost: isGood ? "a product of $500" : "nothing"
    }
  })
}

const strangersFinish: Attack = {
  name: "strangers-finish",
  what: "a tenant ends a run of another tenant's payment with a made-up claim, and asks for its record",
  expected: "404 in the words of an unknown payment",
  targets: ["pontage"],
  mutation: [
    {
      module: "core/src/facilitator/store/MemoryPaymentStore",
      piece: "known === undefined || (caller !== undefined && known.caller !== caller)",
      instead: "known === undefined"
    }
  ],
  run: Effect.fnUntraced(function* (stage) {
    const facilitator = yield* stage.usualFacilitator
    const shop = yield* stage.usualShop
    const offer = yield* HostileCall.offerAt(`${shop.url}/report`)
    const buyer = yield* stage.wallet(BigInt(offer.amount))
    const signed = yield* Effect.promise(() => buyer.sign(offer))
    const receipt = yield* HostileCall.send(`${shop.url}/report`, { headers: HostileWallet.inOurs(signed, offer) })
    const { paymentId } = decodeSettled(receipt.headers.get("x-payment-response") ?? "{}")
    const end = HostileCall.posting({ claimId: newClaimId(), outcome: "failed" }, bearer(stage.mallory))
    const ended = yield* HostileCall.send(`${facilitator.url}/payments/${paymentId}/finish`, end)
    const read = yield* HostileCall.send(`${facilitator.url}/payments/${paymentId}`, { headers: bearer(stage.mallory) })
    const told = [ended, read].filter(({ text }) => text.includes(buyer.address))
    return {
      held: told.length === 0 && ended.status === 404 && read.status === 404,
      seen: `finish ${ended.status}, record ${read.status}`,
      attackerCost: "nothing",
      targetCost: told.length === 0 ? "nothing" : "another tenant's record"
    }
  })
}

export const attacks: ReadonlyArray<Attack> = [preparedRecord, owedAnswer, strangersFinish]
