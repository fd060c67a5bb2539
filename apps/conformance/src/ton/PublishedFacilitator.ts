/**
 * A facilitator of x402's mechanism for TON, from the published specification: it checks the rules that are marked MUST and relays
 * one request at a time from a W5 wallet of its own.
 */
import { Address, Cell, internal, SendMode } from "@ton/core"
import { signVerify } from "@ton/crypto"
import { JettonMaster, TonClient } from "@ton/ton"
import type { PaymentPayload, PaymentRequirements, SchemeNetworkFacilitator } from "@x402/core/types"

import { checkTransfer, demand, raw, read, type Settlement, wordOf } from "./PublishedSettlement.ts"
import * as PublishedWallet from "./PublishedWallet.ts"

const w5Code = "20834b7b72b112147e1b2fb457b84e74d1a30f04f737d4f62a668e9552d2b72f"
/** TON for the payer's wallet and the delivery to it. */
const outerFees = 10_000_000n

/** Options of a facilitator. */
export interface Options extends PublishedWallet.KeyPair {
  readonly rpcUrl: string
}

const jettonWalletOf = (client: TonClient, asset: string, owner: Address): Promise<Address> =>
  client.open(JettonMaster.create(Address.parse(asset))).getWalletAddress(owner)

/** Checks the request against the payer's wallet, by sections 2 and 4. */
const checkWallet = async (client: TonClient, settlement: Settlement): Promise<void> => {
  const { message, payer, seqno, signature, signedHash } = settlement
  const { code, data, state } = await client.getContractState(payer)
  const isActive = state === "active" && code !== null && data !== null
  const parts = isActive ? { code: Cell.fromBoc(code)[0], data: Cell.fromBoc(data)[0] } : message.init
  demand(parts?.code?.hash().toString("hex") === w5Code, "invalid_exact_tvm_payload_invalid_code_hash")
  const fields = (parts.data ?? Cell.EMPTY).beginParse().skip(1)
  demand(fields.loadUint(32) === seqno, "invalid_exact_tvm_payload_seqno_mismatch")
  const key = fields.skip(32).loadBuffer(32)
  demand(signVerify(signedHash, signature, key), "invalid_exact_tvm_payload_invalid_signature")
}

const check = async (client: TonClient, payment: PaymentPayload, offer: PaymentRequirements): Promise<Settlement> => {
  const { asset, settlementBoc } = payment.payload
  demand(typeof settlementBoc === "string" && asset === offer.asset, "invalid_exact_tvm_payload")
  const { accepted } = payment
  demand(accepted.scheme === "exact" && accepted.network === offer.network, "network_mismatch")
  demand(offer.extra["areFeesSponsored"] === true, "unsupported_scheme")
  const settlement = read(settlementBoc)
  checkTransfer(settlement, offer)
  const { inner, payer, validUntil } = settlement
  const now = Math.floor(Date.now() / 1000)
  demand(validUntil > now, "invalid_exact_tvm_payload_valid_until_expired")
  demand(validUntil <= now + offer.maxTimeoutSeconds, "invalid_exact_tvm_payload_valid_until_too_far")
  await checkWallet(client, settlement)
  const source = raw(await jettonWalletOf(client, offer.asset, payer))
  demand(inner.info.type === "internal" && raw(inner.info.dest) === source, "invalid_exact_tvm_payload_jetton_transfer")
  return settlement
}

const relay = async (
  client: TonClient,
  { publicKey, secretKey }: PublishedWallet.KeyPair,
  { message, payer, value }: Settlement,
  network: string
): Promise<void> => {
  const wallet = client.open(PublishedWallet.walletOf(publicKey, network))
  const { body, init } = message
  await wallet.sendTransfer({
    seqno: await wallet.getSeqno(),
    secretKey,
    sendMode: SendMode.PAY_GAS_SEPARATELY + SendMode.IGNORE_ERRORS,
    messages: [internal({ to: payer, value: value + outerFees, bounce: true, init, body })]
  })
}

/** The newest transaction of the recipient's Jetton wallet, if it is a credit of the payer; hexadecimal. */
const creditOf = async (
  client: TonClient,
  { inner }: Settlement,
  offer: PaymentRequirements
): Promise<string | undefined> => {
  const wallet = await jettonWalletOf(client, offer.asset, Address.parse(offer.payTo))
  const [newest] = await client.getTransactions(wallet, { limit: 1 })
  const from = newest?.inMessage?.info.src
  const isCredit = inner.info.type === "internal" && from?.toString() === inner.info.dest.toString()
  return isCredit ? newest?.hash().toString("hex") : undefined
}

/** The scheme for x402's facilitator. */
export const make = ({ rpcUrl, ...key }: Options): SchemeNetworkFacilitator => {
  const client = new TonClient({ endpoint: rpcUrl })
  const seen = new Set<string>()
  return {
    scheme: "exact",
    caipFamily: "tvm:*",
    getExtra: () => ({ areFeesSponsored: true }),
    getSigners: (network) => [PublishedWallet.walletOf(key.publicKey, network).address.toRawString()],
    verify: (payment, offer) =>
      check(client, payment, offer).then(
        ({ payer }) => ({ isValid: true, payer: raw(payer) }),
        (error: unknown) => ({ isValid: false, invalidReason: wordOf(error), payer: "" })
      ),
    settle: async (payment, offer) => {
      const { network } = offer
      try {
        const settlement = await check(client, payment, offer)
        const id = settlement.signedHash.toString("hex")
        demand(!seen.has(id), "duplicate_settlement")
        seen.add(id)
        await relay(client, key, settlement, network)
        const transaction = await creditOf(client, settlement, offer)
        demand(transaction !== undefined, "transaction_failed")
        return { success: true, payer: raw(settlement.payer), transaction, network }
      } catch (error) {
        return { success: false, errorReason: wordOf(error), payer: "", transaction: "", network }
      }
    }
  }
}
