/**
 * Circle's own USDC contracts, the default token of each network here. All of them accept EIP-3009 authorizations.
 *
 * Addresses: https://developers.circle.com/stablecoins/usdc-contract-addresses. Names and versions are those of the contracts'
 * EIP-712 domains: https://github.com/circlefin/stablecoin-evm (`FiatTokenV2_2`, version 2; the name is chosen at each
 * deployment). Every shop and facilitator compares the whole line with the chain before it uses it (`EvmChainCheck`), so that
 * a wrong line stops a start and never costs a payment.
 */

/** One deployment: the chain id (EIP-155), the contract's address with its checksum, the name of its EIP-712 domain. */
export type UsdcDeployment = readonly [chainId: number, address: string, name: string]

/** The version of every domain. */
export const version = "2"

/** The digits behind the point of every deployment. */
export const decimals = 6

/** The deployments, mainnets before test networks. */
export const deployments: ReadonlyArray<UsdcDeployment> = [
  [1, "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", "USD Coin"],
  [10, "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85", "USD Coin"],
  [50, "0xfA2958CB79b0491CC627c1557F441eF849Ca8eb1", "USDC"],
  [130, "0x078D782b760474a361dDA0AF3839290b0EF57AD6", "USDC"],
  [137, "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359", "USD Coin"],
  [143, "0x754704Bc059F8C67012fEd69BC8A327a5aafb603", "USDC"],
  [146, "0x29219dd400f2Bf60E5a23d13Be72B486D4038894", "USDC"],
  [324, "0x1d17CBcF0D6D143135aE902365D2E5e2A16538D4", "USDC"],
  [480, "0x79A02482A880bCE3F13e09Da970dC34db4CD24d1", "USDC"],
  [999, "0xb88339CB7199b77E23DB6E890353E22632Ba630f", "USDC"],
  [1329, "0xe15fC38F6D8c56aF07bbCBe3BAf5708A2Bf42392", "USDC"],
  [8453, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "USD Coin"],
  [42161, "0xaf88d065e77c8cC2239327C5EDb3A432268e5831", "USD Coin"],
  [42220, "0xcebA9300f2b948710d2653dD7B07f33A8B32118C", "USDC"],
  [43114, "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E", "USD Coin"],
  [57073, "0x2D270e6886d130D724215A266106e6832161EAEd", "USDC"],
  [59144, "0x176211869cA2b568f2A7D4EE941E073a821EE1ff", "USDC"],
  [81224, "0xd996633a415985DBd7D6D12f4A4343E31f5037cf", "USDC"],
  [98866, "0x222365EF19F7947e5484218551B56bb3965Aa7aF", "USDC"],
  [51, "0xb5AB69F7bBada22B28e79C8FFAECe55eF1c771D4", "USDC"],
  [300, "0xAe045DE5638162fa134807Cb558E15A3F5A7F853", "USDC"],
  [998, "0x2B3370eE501B4a559b57D449569354196457D8Ab", "USDC"],
  [1301, "0x31d0220469e10c4E71834a79b1f276d740d3768F", "USDC"],
  [1328, "0x4fCF1784B31630811181f670Aea7A7bEF803eaED", "USDC"],
  [4801, "0x66145f38cBAC35Ca6F1Dfb4914dF98F1614aeA88", "USDC"],
  [10143, "0x534b2f3A21130d7a60830c2Df862319e593943A3", "USDC"],
  [43113, "0x5425890298aed601595a70AB815c96711a31Bc65", "USD Coin"],
  [59141, "0xFEce4462D57bD51A6A552365A011b95f0E16d9B7", "USDC"],
  [80002, "0x41E94Eb019C0762f9Bfcf9Fb1E58725BfB0e7582", "USDC"],
  [84532, "0x036CbD53842c5426634e7929541eC2318f3dCF7e", "USDC"],
  [98867, "0xcB5f30e335672893c7eb944B374c196392C19D18", "USDC"],
  [421614, "0x75faf114eafb1BDbe2F0316DF893fd58CE46AA4d", "USD Coin"],
  [763373, "0xFabab97dCE620294D2B0b0e46C68964e326300Ac", "USDC"],
  [812242, "0x6d7f141b6819C2c9CC2f818e6ad549E7Ca090F8f", "USDC"],
  [11142220, "0x01C5C0122039549AD1493B8220cABEdD739BC44E", "USDC"],
  [11155111, "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238", "USDC"],
  [11155420, "0x5fd84259d66Cd46123540766Be93DFE6D43130D7", "USDC"]
]
