/**
 * The trials, by the number of the promise that each tries.
 */
import type { Anvil } from "@pontage/evm/testing"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

import * as ChannelTrial from "./trials/ChannelTrial.ts"
import * as ChaosTrial from "./trials/ChaosTrial.ts"
import * as CheckpointTrial from "./trials/CheckpointTrial.ts"
import * as CrashTrial from "./trials/CrashTrial.ts"
import * as DatabaseTrial from "./trials/DatabaseTrial.ts"
import * as GasTrial from "./trials/GasTrial.ts"
import * as InstancesTrial from "./trials/InstancesTrial.ts"
import * as OlderDatabaseTrial from "./trials/OlderDatabaseTrial.ts"
import * as OverloadTrial from "./trials/OverloadTrial.ts"
import * as ReorganisationTrial from "./trials/ReorganisationTrial.ts"
import * as SettingsTrial from "./trials/SettingsTrial.ts"
import * as SignerTrial from "./trials/SignerTrial.ts"
import * as SoakTrial from "./trials/SoakTrial.ts"
import type { TrialOptions } from "./world/TrialOptions.ts"
import type { TrialReport } from "./world/TrialReport.ts"

export type Trial = (options: TrialOptions) => Effect.Effect<TrialReport, Anvil.AnvilFailed, Scope.Scope>

/** All of them. */
export const trials: Readonly<Record<string, Trial>> = {
  g1: CrashTrial.run,
  g2: (options) => CheckpointTrial.run(options),
  g6: (options) => SignerTrial.run(options),
  g7: ReorganisationTrial.run,
  g8: ChaosTrial.run,
  "g9-2": InstancesTrial.run(2),
  "g9-4": InstancesTrial.run(4),
  g10: (options) => DatabaseTrial.run(options),
  g21: GasTrial.run,
  g25: OlderDatabaseTrial.run,
  settings: (options) => SettingsTrial.run(options),
  channels: (options) => ChannelTrial.run(options),
  "channels-withdrawal": (options) => ChannelTrial.runWithdrawal(options),
  "channels-instances": (options) => ChannelTrial.runInstances(options),
  "channels-reorganised": (options) => ChannelTrial.runReorganised(options),
  soak: SoakTrial.run,
  overload: OverloadTrial.run
}

/** The trials that also try payments which go on to a second chain. */
export const routedTrials: ReadonlyArray<string> = ["g1", "g2"]
