/**
 * The OFTs of LayerZero that carry a known token between chains: USDT0. A line names the token of a chain, the contract that sends it
 * there and takes it in, and the chain's endpoint id.
 *
 * Addresses: https://docs.usdt0.to/technical-documentation/deployments. Every facilitator compares the whole line with both chains
 * before it quotes a route (`BridgeCrossing`), so that a wrong line stops a start and never costs a payment.
 */

/** One deployment: the chain id (EIP-155), the token, its OFT (both with checksum), and the endpoint id. */
export type OftDeployment = readonly [chainId: number, token: string, oft: string, endpointId: number]

/** The deployments. */
export const deployments: ReadonlyArray<OftDeployment> = [
  [10, "0x01bFF41798a0BcF287b996046Ca68b395DbC1071", "0xF03b4d9AC1D5d1E7c4cEf54C2A313b9fe051A0aD", 30_111],
  [130, "0x9151434b16b9763660705744891fA906F660EcC5", "0xc07bE8994D035631c36fb4a89C918CeFB2f03EC3", 30_320],
  [137, "0xc2132D05D31c914a87C6611C10748AEb04B58e8F", "0x6BA10300f0DC58B7a1e4c0e41f5daBb7D7829e13", 30_109],
  [42161, "0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9", "0x14E4A1B13bf7F943c8ff7C51fb60FA964A298D92", 30_110],
  [57073, "0x0200C29006150606B650577BBE7B6248F58470c1", "0x1cB6De532588fCA4a21B7209DE7C456AF8434A65", 30_339],
  [80094, "0x779Ded0c9e1022225f8E0630b35a9b54bE713736", "0x3Dc96399109df5ceb2C226664A086140bD0379cB", 30_362]
]
