/**
 * Names of EVM networks for people: those of viem's chains and of version 1 of x402. Capitals, hyphens and underscores do not
 * count, so that `base-sepolia`, `baseSepolia` and `BASE_SEPOLIA` are one name. A bare `mainnet` or `testnet` is no name,
 * because every family of chains has one.
 */

/** The chain ids (EIP-155) by name, in small letters and without separators. */
const chainIds: Readonly<Record<string, number>> = {
  abstract: 2741,
  abstracttestnet: 11124,
  anvil: 31337,
  arbitrum: 42161,
  arbitrumsepolia: 421614,
  avalanche: 43114,
  avalanchefuji: 43113,
  base: 8453,
  basesepolia: 84532,
  berachain: 80094,
  celo: 42220,
  celosepolia: 11142220,
  codex: 81224,
  codextestnet: 812242,
  educhain: 41923,
  ethereum: 1,
  foundry: 31337,
  hardhat: 31337,
  hyperevm: 999,
  hyperliquid: 999,
  hyperliquidevmtestnet: 998,
  ink: 57073,
  inksepolia: 763373,
  iotex: 4689,
  linea: 59144,
  lineasepolia: 59141,
  monad: 143,
  monadtestnet: 10143,
  optimism: 10,
  optimismsepolia: 11155420,
  peaq: 3338,
  plumemainnet: 98866,
  plumesepolia: 98867,
  polygon: 137,
  polygonamoy: 80002,
  sei: 1329,
  seitestnet: 1328,
  sepolia: 11155111,
  skalebasesepolia: 324705682,
  skalebasesepoliatestnet: 324705682,
  sonic: 146,
  story: 1514,
  unichain: 130,
  unichainsepolia: 1301,
  worldchain: 480,
  worldchainsepolia: 4801,
  xdc: 50,
  xdctestnet: 51,
  zksync: 324,
  zksyncsepoliatestnet: 300
}

const longestName = 40

/** The chain id of a name; `undefined` for any other text. */
export const chainId = (text: string): number | undefined => {
  if (text.length > longestName) return undefined
  const name = text.replace(/[-_]/g, "").toLowerCase()
  return Object.hasOwn(chainIds, name) ? chainIds[name] : undefined
}
