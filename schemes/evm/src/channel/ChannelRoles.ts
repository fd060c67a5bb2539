/**
 * The namespace `channelEvm`: payment channels by x402's contract. A payer reads its channel with `channelEvm.state` and leaves it
 * without the shop by `channelEvm.withdraw`.
 */
export { state, withdraw } from "./ChannelWithdrawal.ts"
