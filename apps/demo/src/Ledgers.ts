/**
 * The local chains as a purchase is looked up on them: the transfers that the chains themselves show, not what anybody says
 * of them.
 */
import type { DevNet } from "@pontage/devnet"
import type { DevBridge } from "@pontage/devnet/bridge"
import type { EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import type { Address } from "viem"

import type { Ledger } from "./Purchase.ts"

/** The ledger of a token on the EVM chain, by default of the chain's own. */
export const evmLedger = ({ evm }: DevNet.DevNet, token: Address = evm.token.address): Ledger =>
  ledgerOf(evm, token, evm.accounts.payee.address)

const ledgerOf = (chain: EvmTestChain.Shape, token: Address, payTo: string): Ledger => ({
  payTo,
  transfers: Effect.map(chain.transfers({ token }), (transfers) =>
    transfers.map(({ to, transactionHash, value }) => ({ transaction: transactionHash, to, amount: value }))
  )
})

/** Both ledgers of a purchase across chains: the payer's money goes to the router, and the payee gets its price on the second chain. */
export const crossLedgers = ({ first, router, second, token }: DevBridge.DevBridge) => ({
  near: ledgerOf(first, first.token.address, router),
  onward: ledgerOf(second, token, first.accounts.payee.address)
})

/** On TON the recipient's own Jetton wallet shows what has arrived. */
export const tonLedger = ({ ton }: DevNet.DevNet): Ledger => {
  const { address, raw } = ton.accounts.payee
  return {
    payTo: raw,
    transfers: Effect.map(ton.credits(address), (credits) =>
      credits.map(({ amount, transaction }) => ({ transaction, to: raw, amount }))
    )
  }
}

export const tronLedger = ({ tron }: DevNet.DevNet): Ledger => ({
  payTo: tron.accounts.payee.address,
  transfers: Effect.map(tron.transfers(), (transfers) =>
    transfers.map(({ to, transaction, value }) => ({ transaction, to, amount: value }))
  )
})
