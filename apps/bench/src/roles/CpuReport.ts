/**
 * Loaded into a role's process ahead of the role (`node --import`): asked by its parent, it says what CPU time the process
 * has used, and it ends the process with its parent. The role knows nothing of it.
 */
import process from "node:process"

process.on("message", () => {
  const { system, user } = process.cpuUsage()
  process.send?.({ cpuMicros: user + system })
})
process.on("disconnect", () => process.exit())
// The role decides how long the process lives.
process.channel?.unref()
