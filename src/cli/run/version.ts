declare const __SVC_VERSION__: string | undefined

/** The version of the package, put in by the build. From source it says so. */
export const version = typeof __SVC_VERSION__ === 'string' ? __SVC_VERSION__ : '0.0.0-source'
