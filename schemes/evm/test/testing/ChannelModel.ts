/**
 * The rules of one channel in plain numbers, to compare the contract with: each step changes the numbers as the contract does, or
 * names the error that it reverts with.
 */

/** A channel and its receiver's sums. `now` is the time of the next block. */
export interface ChannelModel {
  readonly balance: bigint
  readonly claimed: bigint
  readonly settled: bigint
  readonly nonce: bigint
  readonly pending: { readonly amount: bigint; readonly at: bigint } | undefined
  /** The payer's tokens outside the channel. */
  readonly purse: bigint
}

/** A step, by the side that may take it. */
export type Step =
  | { readonly _tag: "deposit"; readonly amount: bigint }
  | { readonly _tag: "claim"; readonly ceiling: bigint; readonly total: bigint }
  | { readonly _tag: "settle" }
  | { readonly _tag: "refund"; readonly amount: bigint }
  | { readonly _tag: "initiate"; readonly amount: bigint }
  | { readonly _tag: "finalize" }
  | { readonly _tag: "pass"; readonly seconds: bigint }

const least = (one: bigint, other: bigint) => (one < other ? one : other)

/** The model after a step in a block of this time, or the error's name. */
export const after = (model: ChannelModel, step: Step, now: bigint, delay: bigint): ChannelModel | string => {
  const available = model.balance - model.claimed
  switch (step._tag) {
    case "pass":
      return model
    case "deposit":
      if (step.amount === 0n) return "ZeroDeposit"
      return { ...model, balance: model.balance + step.amount, purse: model.purse - step.amount }
    case "claim":
      if (step.total <= model.claimed) return model
      if (step.total > step.ceiling) return "ClaimExceedsCeiling"
      return step.total > model.balance ? "ClaimExceedsBalance" : { ...model, claimed: step.total }
    case "settle":
      return { ...model, settled: model.claimed }
    case "refund": {
      if (step.amount === 0n) return "ZeroRefund"
      const moved = least(step.amount, available)
      const rest = model.pending === undefined ? 0n : model.pending.amount - least(moved, model.pending.amount)
      const isOver = model.pending === undefined || (moved > 0n && rest === 0n)
      return {
        ...model,
        balance: model.balance - moved,
        purse: model.purse + moved,
        nonce: model.nonce + 1n,
        pending: isOver ? undefined : { ...model.pending, amount: rest }
      }
    }
    case "initiate":
      if (step.amount === 0n) return "NothingToWithdraw"
      if (model.pending !== undefined) return "WithdrawalAlreadyPending"
      if (step.amount > available) return "WithdrawAmountExceedsAvailable"
      return { ...model, pending: { amount: step.amount, at: now } }
    case "finalize": {
      if (model.pending === undefined) return "WithdrawalNotPending"
      if (now < model.pending.at + delay) return "WithdrawDelayNotElapsed"
      const moved = least(model.pending.amount, available)
      return { ...model, balance: model.balance - moved, purse: model.purse + moved, pending: undefined }
    }
  }
}
