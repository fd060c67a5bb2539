/**
 * The trials, by the number of the promise that each tries.
 */
import type { Anvil } from "@pontage/evm/testing"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

import * as ChaosTrial from "./ChaosTrial.ts"
import * as CheckpointTrial from "./CheckpointTrial.ts"
import * as CrashTrial from "./CrashTrial.ts"
import * as DatabaseTrial from "./DatabaseTrial.ts"
import * as GasTrial from "./GasTrial.ts"
import * as InstancesTrial from "./InstancesTrial.ts"
import * as OlderDatabaseTrial from "./OlderDatabaseTrial.ts"
import * as OverloadTrial from "./OverloadTrial.ts"
import * as ReorganisationTrial from "./ReorganisationTrial.ts"
import * as SettingsTrial from "./SettingsTrial.ts"
import * as SignerTrial from "./SignerTrial.ts"
import * as SoakTrial from "./SoakTrial.ts"
import type { TrialOptions } from "./TrialOptions.ts"
import type { TrialReport } from "./TrialReport.ts"

/**
 * @category models
 */
export type Trial = (options: TrialOptions) => Effect.Effect<TrialReport, Anvil.AnvilFailed, Scope.Scope>

/**
 * All of them.
 *
 * @category constants
 */
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
  soak: SoakTrial.run,
  overload: OverloadTrial.run
}
