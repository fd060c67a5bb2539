/**
 * What a relayed payment needs at the chain's prices: the TON that is attached to it, and the most that the relayer pays beside
 * it. What a payer who moves the Jettons away can gain is what was attached, so that it is kept near what a transfer needs.
 */
import type { Asset } from "@pontage/core"
import type { Cell } from "@ton/core"

import type { TonAuthorization } from "../payment/TonAuthorization.ts"
import * as TonPrices from "./TonPrices.ts"

/** The tariff. */
export interface TonTariff {
  /** The TON that a transfer of this token needs once it has left the payer's wallet, in nanotons. */
  readonly transfer: (token: Asset) => bigint
  /** The TON that is attached to a payment, in nanotons. */
  readonly attached: (authorization: TonAuthorization, token: Asset) => bigint
  /** The most that a relayer's external message costs of itself, without any message in it, in nanotons. */
  readonly external: bigint
  /** The same with what a relayer that has slept for a year owes for its storage. */
  readonly base: bigint
  /** The most that a message in it costs beside what is attached, in nanotons. */
  readonly message: (message: Cell) => bigint
}

/** Gas: of the payer's wallet, of its Jetton wallet, of the recipient's. Measured 5,300, 5,951 and 5,447; stablecoins need 10,000. */
const walletGas = 6_500n
const sendGas = 12_000n
const creditGas = 12_000n
/** The messages between them: the order, the credit with what deploys the recipient's Jetton wallet, and what comes back. */
const orderSize = { bits: 1_400n, cells: 3n }
const creditSize = { bits: 10_000n, cells: 22n }
const excessSize = { bits: 900n, cells: 1n }
/** What a new Jetton wallet keeps for its storage, in nanotons; contracts have it as a constant. */
const kept = 10_000_000n
/** What contracts demand that have the prices of 2020 as constants, in nanotons: of a token that is not known it may be one. */
const oldest = 50_000_000n

/** The relayer's wallet: gas of an external message, and of each message in it (measured 4,900 and 733). */
const baseGas = 6_500n
const messageGas = 900n
/** The wallet's code and data, of which a year's storage may be due, and the external message without its actions. */
const relayerSize = { bits: 6_500n, cells: 30n }
const year = 31_536_000n
const externalSize = { bits: 1_400n, cells: 2n }
/** An action in the list of actions, without the message it holds. */
const actionSize = { bits: 40n, cells: 1n }

/**
 * The tariff at these prices. `attachedTon` is the operator's own amount for all transfers; without one it is what the prices
 * give, and for a token that is not known no less than old contracts demand.
 */
export const make = (
  prices: TonPrices.TonPrices,
  isKnown: (token: Asset) => boolean,
  attachedTon: bigint | undefined
): TonTariff => {
  const order = prices.gas(walletGas) + prices.forward(orderSize)
  const needed =
    order + prices.gas(sendGas) + prices.forward(creditSize) + prices.gas(creditGas) + prices.forward(excessSize) + kept
  const transfer = (token: Asset) => attachedTon ?? (isKnown(token) || needed > oldest ? needed : oldest)
  const external = prices.gas(baseGas) + prices.forward(externalSize)
  return {
    transfer,
    attached: ({ request, value }, token) => (request.mode === 64 ? transfer(token) : value + order),
    external,
    base: external + prices.storage(relayerSize, year),
    message: (message) => {
      const size = TonPrices.sizeOf([message])
      const carried = { bits: size.bits + actionSize.bits, cells: size.cells + actionSize.cells }
      // Its share of the external message has no fee of its own to be sent: that is in the base.
      const imported = prices.forward(carried) - prices.forward({ bits: 0n, cells: 0n })
      return imported + prices.forward(TonPrices.sizeOf(message.refs)) + messageGas * gasPrice(prices)
    }
  }
}

/** What one more unit of gas costs, rounded up. */
const gasPrice = ({ gas }: TonPrices.TonPrices): bigint => (gas(baseGas + 1_000n) - gas(baseGas) + 999n) / 1_000n
