/** Networks and addresses of EVM chains as the variables' texts have them. */
import { EvmAddress, EvmNetwork } from "@pontage/evm"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaTransformation from "effect/SchemaTransformation"

/** `eip155:<chain id>`, or a name such as `base-sepolia`; decoded to the former. */
export const NetworkText = Schema.String.pipe(
  Schema.decodeTo(
    Schema.String,
    SchemaTransformation.transformEffect({
      decode: (text) => {
        const network = EvmNetwork.fromText(text)
        const message = 'Expected a network such as "eip155:8453" or "base-sepolia"'
        return network === undefined
          ? Effect.fail(new SchemaIssue.InvalidValue({ message }))
          : Effect.succeed<string>(network)
      },
      encode: (network) => Effect.succeed(network)
    })
  )
)

/** Address, in a strict form. */
export const ContractAddress = Schema.String.check(Schema.makeFilter((text) => EvmAddress.fromText(text) !== undefined))

/** Texts with commas between. */
export const listed = <Text extends string>(member: Schema.Codec<Text, string>) =>
  Schema.String.pipe(
    Schema.decodeTo(
      Schema.Array(member),
      SchemaTransformation.transform({
        decode: (text): ReadonlyArray<string> => text.split(","),
        encode: (all) => all.join(",")
      })
    )
  )
