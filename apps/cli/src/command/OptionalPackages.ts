/** Packages that one command needs and paying does not: they are installed beside `pontage` when they are wanted. */
import { unusableWallet } from "../CommandFailed.ts"

const isMissing = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND"

/** Loads a module. Fails with the command that installs what is missing. */
export const load = async <Module>(packages: string, importing: () => Promise<Module>): Promise<Module> => {
  try {
    return await importing()
  } catch (error) {
    if (!isMissing(error)) throw error
    throw missing(packages)
  }
}

/** The failure of a command without its packages. */
export const missing = (packages: string) =>
  unusableWallet(`this command needs packages that are not installed: npm install --save-dev ${packages}`)
