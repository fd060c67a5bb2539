/**
 * The namespace `channelEvm`: payment channels by x402's contract. A payer buys through channels with `channelEvm.client`, reads one
 * with `channelEvm.state` and leaves it without the shop by `channelEvm.withdraw`; `channelEvm.server` makes a shop's offers, `channelEvm.facilitator` settles what shops ask for,
 * and `channelEvm.localSigner` is its signer for a key in memory.
 */
export { facilitator } from "../channel-jobs/ChannelFacilitator.ts"
export { localSigner } from "../wallet/LocalSigner.ts"
export { client } from "./ChannelEvmClient.ts"
export { server } from "./ChannelServer.ts"
export { state, withdraw } from "./ChannelWithdrawal.ts"
