/**
 * The transactions of channels that a facilitator sends: the contract's calls, each with its gas limit.
 */
import type * as EvmAddress from "../primitives/EvmAddress.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"
import * as ChannelCall from "../voucher/ChannelCall.ts"
import * as ChannelContract from "../voucher/ChannelContract.ts"
import type { ChannelJob } from "./ChannelJob.ts"

/** A call of the contract, and the most gas that it may use. */
export interface LimitedCall {
  readonly to: EvmAddress.Address
  readonly data: EvmHex.Hex
  readonly gas: bigint
}

/**
 * The most gas of the calls, well above their use. A deposit uses 140 000 with the deployed dollar tokens, the first row of a claim
 * 67 000 and each further one 21 000, a settle 53 000, a refund 79 000.
 */
const gasOf = { deposit: 300_000n, claim: 100_000n, row: 40_000n, settle: 150_000n, refund: 200_000n }

const claimGas = (rows: ReadonlyArray<unknown>): bigint => gasOf.claim + gasOf.row * BigInt(rows.length)

/** The call that does a job. */
export const ofJob = (job: ChannelJob): LimitedCall => {
  const { data, gas } = callOf(job)
  return { to: ChannelContract.address, data, gas }
}

const callOf = (job: ChannelJob): Omit<LimitedCall, "to"> => {
  switch (job.kind) {
    case "deposit": {
      const { authorization, config, salt, signature } = job
      const { validAfter, validBefore, value } = authorization
      const collected = ChannelCall.erc3009Data({ validAfter, validBefore, salt, signature })
      const data = ChannelCall.deposit(config, value, ChannelContract.erc3009Collector, collected)
      return { data, gas: gasOf.deposit }
    }
    case "claim":
      return { data: ChannelCall.claimWithSignature(job.rows, job.signature), gas: claimGas(job.rows) }
    case "settle":
      return { data: ChannelCall.settle(job.receiver, job.token), gas: gasOf.settle }
    case "refund": {
      const { amount, claimSignature, config, nonce, rows, signature } = job
      const refund = ChannelCall.refundWithSignature(config, amount, nonce, signature)
      if (claimSignature === undefined || rows.length === 0) return { data: refund, gas: gasOf.refund }
      const claim = ChannelCall.claimWithSignature(rows, claimSignature)
      return { data: ChannelCall.multicall([claim, refund]), gas: gasOf.refund + claimGas(rows) }
    }
  }
}
