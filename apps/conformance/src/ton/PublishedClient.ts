/**
 * A client of x402's mechanism for TON, from the published specification: it signs one W5 request in an internal message, with send
 * mode 1 and a fixed amount of TON.
 */
import {
  Address,
  beginCell,
  type Cell,
  internal,
  type MessageRelaxed,
  SendMode,
  storeMessageRelaxed,
  storeOutList
} from "@ton/core"
import { sign } from "@ton/crypto"
import { JettonMaster, TonClient } from "@ton/ton"
import type { PaymentRequirements, SchemeNetworkClient } from "@x402/core/types"

import * as PublishedWallet from "./PublishedWallet.ts"

/** Options of a client. */
export interface Options extends PublishedWallet.KeyPair {
  /** toncenter's JSON-RPC address. */
  readonly rpcUrl: string
  /** Nanotons that the wallet hands on; default the 0.03 TON of x402's first clients. */
  readonly handedOn?: bigint
  /** Whether an empty forward payload is a cell of its own where the offer names none; default in place. */
  readonly isPayloadApart?: boolean
}

const transferBody = (offer: PaymentRequirements, isPayloadApart: boolean): Cell => {
  const { forwardPayload, forwardTonAmount, responseDestination } = PublishedWallet.forwardingOf(offer.extra)
  const body = beginCell()
    .storeUint(PublishedWallet.transferOp, 32)
    .storeUint(0, 64)
    .storeCoins(BigInt(offer.amount))
    .storeAddress(Address.parse(offer.payTo))
    .storeAddress(responseDestination === undefined ? null : Address.parse(responseDestination))
    .storeBit(false)
    .storeCoins(forwardTonAmount)
  return isPayloadApart || typeof offer.extra["forwardPayload"] === "string"
    ? body.storeMaybeRef(forwardPayload).endCell()
    : body.storeBit(false).storeSlice(forwardPayload.beginParse()).endCell()
}

interface Request {
  readonly network: string
  readonly validUntil: number
  readonly seqno: number
  readonly secretKey: Buffer
}

/** A signed W5 request. The wallet of `@ton/ton` writes no validity into its first one, which facilitators refuse. */
const requestOf = (message: MessageRelaxed, { network, secretKey, seqno, validUntil }: Request): Cell => {
  const actions = beginCell()
    .store(storeOutList([{ type: "sendMsg", mode: SendMode.PAY_GAS_SEPARATELY, outMsg: message }]))
    .endCell()
  const unsigned = beginCell()
    .storeUint(PublishedWallet.requestOp, 32)
    .storeInt(PublishedWallet.walletId(network), 32)
    .storeUint(validUntil, 32)
    .storeUint(seqno, 32)
    .storeMaybeRef(actions)
    .storeBit(false)
    .endCell()
  const signature = sign(unsigned.hash(), secretKey)
  return beginCell().storeSlice(unsigned.beginParse()).storeBuffer(signature, 64).endCell()
}

/** The scheme for x402's client. */
export const make = (options: Options): SchemeNetworkClient => {
  const { handedOn = 30_000_000n, isPayloadApart = false, publicKey, rpcUrl, secretKey } = options
  const client = new TonClient({ endpoint: rpcUrl })
  return {
    scheme: "exact",
    createPaymentPayload: async (x402Version, offer) => {
      if (offer.extra["areFeesSponsored"] !== true) throw new Error("the offer does not sponsor fees")
      const wallet = PublishedWallet.walletOf(publicKey, offer.network)
      const master = client.open(JettonMaster.create(Address.parse(offer.asset)))
      const { state } = await client.getContractState(wallet.address)
      const order = internal({
        to: await master.getWalletAddress(wallet.address),
        value: handedOn,
        bounce: true,
        body: transferBody(offer, isPayloadApart)
      })
      const body = requestOf(order, {
        network: offer.network,
        validUntil: Math.floor(Date.now() / 1000) + offer.maxTimeoutSeconds - 5,
        seqno: await client.open(wallet).getSeqno(),
        secretKey
      })
      const init = state === "active" ? undefined : wallet.init
      const message = internal({ to: wallet.address, value: 0n, bounce: true, init, body })
      const settlementBoc = beginCell().store(storeMessageRelaxed(message)).endCell().toBoc().toString("base64")
      return { x402Version, payload: { settlementBoc, asset: Address.parse(offer.asset).toRawString() } }
    }
  }
}
