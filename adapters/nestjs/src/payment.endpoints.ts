/**
 * The handlers of an application and their paths in Nest: global prefix, module path and version included. Read with
 * Nest's own explorer and path factory, so that both always agree.
 */
import { RequestMethod, VersioningType } from "@nestjs/common"
import {
  HOST_METADATA,
  MODULE_PATH,
  PATH_METADATA,
  RESPONSE_PASSTHROUGH_METADATA,
  ROUTE_ARGS_METADATA,
  SSE_METADATA,
  VERSION_METADATA
} from "@nestjs/common/constants.js"
import { RouteParamtypes } from "@nestjs/common/enums/route-paramtypes.enum.js"
import type { ApplicationConfig, DiscoveryService, MetadataScanner, ModulesContainer } from "@nestjs/core"
import type { RoutePathMetadata } from "@nestjs/core/router/interfaces/route-path-metadata.interface.js"
import { PathsExplorer, type RouteDefinition } from "@nestjs/core/router/paths-explorer.js"
import { RoutePathFactory } from "@nestjs/core/router/route-path-factory.js"

/** A path of a handler. `ALL` stands for every method. */
export interface Endpoint {
  readonly method: string
  readonly path: string
  /** Whether it is served for some hosts or versions only, which its path does not show. */
  readonly conditional: boolean
}

/** A handler of a controller. */
export interface RoutedHandler {
  /** Name for messages: `ReportController.show`. */
  readonly name: string
  /** The controller's class and the handler's function, as an execution context names them. */
  readonly controller: object
  readonly handler: object
  /** The function that carries the decorators; differs from `handler` if an instance replaces its method. */
  readonly declared: object
  readonly endpoints: ReadonlyArray<Endpoint>
  /** Whether it sends its response by itself: `@Res()`, `@Next()`, `@Sse()`. */
  readonly sendsItself: boolean
}

/** The services that list the handlers. */
export interface Surroundings {
  readonly application: ApplicationConfig
  readonly discovery: DiscoveryService
  readonly modules: ModulesContainer
  readonly scanner: MetadataScanner
}

type Controller = ReturnType<DiscoveryService["getControllers"]>[number]

/** Every handler, once for each controller class that has it, in the order in which Nest registers them. */
export const routedHandlers = (surroundings: Surroundings): ReadonlyArray<RoutedHandler> => {
  const explorer = new PathsExplorer(surroundings.scanner)
  const factory = new RoutePathFactory(surroundings.application)
  const found = surroundings.discovery.getControllers().flatMap((controller) =>
    explorer.scanForPaths(controller.instance).map((route): RoutedHandler => {
      const { instance } = controller
      return {
        name: `${controller.name}.${route.methodName}`,
        controller: instance.constructor,
        handler: route.targetCallback,
        declared: Reflect.get(Object.getPrototypeOf(instance), route.methodName),
        endpoints: endpointsOf(surroundings, factory, controller, route),
        sendsItself: sendsItself(instance.constructor, route)
      }
    })
  )
  return merged(found)
}

/** The paths of a controller: one in several modules is served at several paths by the same functions. */
const merged = (found: ReadonlyArray<RoutedHandler>): ReadonlyArray<RoutedHandler> => {
  const unique: Array<RoutedHandler> = []
  for (const routed of found) {
    const { controller, handler } = routed
    const index = unique.findIndex((other) => other.controller === controller && other.handler === handler)
    const twin = unique[index]
    if (twin === undefined) unique.push(routed)
    else unique[index] = { ...twin, endpoints: [...twin.endpoints, ...routed.endpoints] }
  }
  return unique
}

const endpointsOf = (
  { application, modules }: Surroundings,
  factory: RoutePathFactory,
  { host, metatype }: Controller,
  { path: methodPaths, requestMethod, version: methodVersion }: RouteDefinition
): ReadonlyArray<Endpoint> => {
  if (metatype === null) return []
  const versioningOptions = application.getVersioning()
  const prefix = application.getGlobalPrefix()
  const served: RoutePathMetadata = { globalPrefix: prefix === "" ? "" : slashed(prefix) }
  const modulePath = host === undefined ? undefined : modulePathOf(modules, host.metatype)
  if (modulePath !== undefined) served.modulePath = modulePath
  if (methodVersion !== undefined) served.methodVersion = methodVersion
  if (versioningOptions !== undefined) {
    served.versioningOptions = versioningOptions
    served.controllerVersion = Reflect.getMetadata(VERSION_METADATA, metatype) ?? versioningOptions.defaultVersion
  }
  const method = RequestMethod[requestMethod]
  const versioned = factory.getVersion(served) !== undefined && versioningOptions?.type !== VersioningType.URI
  const conditional = versioned || Reflect.getMetadata(HOST_METADATA, metatype) !== undefined
  return controllerPaths(metatype)
    .flatMap((ctrlPath) => methodPaths.map((methodPath) => ({ ...served, ctrlPath, methodPath })))
    .flatMap((metadata) => factory.create(metadata, requestMethod).map((path) => ({ method, path, conditional })))
}

const modulePathOf = (modules: ModulesContainer, metatype: object): string | undefined =>
  Reflect.getMetadata(MODULE_PATH + modules.applicationId, metatype) ?? Reflect.getMetadata(MODULE_PATH, metatype)

const controllerPaths = (metatype: object): ReadonlyArray<string> => {
  const path: string | ReadonlyArray<string> = Reflect.getMetadata(PATH_METADATA, metatype)
  return (typeof path === "string" ? [path] : path).map(slashed)
}

const slashed = (path: string): string => (path === "" || path.startsWith("/") ? path : `/${path}`)

const sendsItself = (controller: object, { methodName, targetCallback }: RouteDefinition): boolean => {
  if (Reflect.getMetadata(SSE_METADATA, targetCallback) === true) return true
  if (Reflect.getMetadata(RESPONSE_PASSTHROUGH_METADATA, controller, methodName) === true) return false
  const parameters: object = Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, methodName) ?? {}
  return Object.keys(parameters).some((key) => takesResponse.has(key.split(":")[0] ?? ""))
}

/** Nest's metadata has a key `<kind>:<index>` for each parameter. */
const takesResponse: ReadonlySet<string> = new Set([`${RouteParamtypes.RESPONSE}`, `${RouteParamtypes.NEXT}`])
