/**
 * When a creative counts as rendered: its media is there, and two animation frames have passed.
 *
 * Browsers give a frame no animation frames while it is out of view, and may hold back decode() as well. What is
 * painted must not depend on scrolling, so both give way after a moment.
 */
const patience_ms = 500

/** Resolves when painted, rejects when the media cannot be shown. */
export async function painted(images: readonly HTMLImageElement[], video: HTMLVideoElement | null): Promise<void> {
  await Promise.all(images.map(loadImage))
  if (video) await loadVideo(video)
  await Promise.race([twoFrames(), pause()])
}

async function loadImage(image: HTMLImageElement): Promise<void> {
  if (!image.complete) {
    await new Promise((resolve) => {
      image.onload = image.onerror = resolve
    })
  }
  if (image.naturalWidth === 0) throw new Error('creative_failed')
  await Promise.race([image.decode(), pause()])
}

function loadVideo(video: HTMLVideoElement): Promise<void> {
  return new Promise((resolve, reject) => {
    const check = (): void => {
      if (video.error) reject(new Error('creative_failed'))
      else if (video.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA) resolve()
    }
    video.addEventListener('loadeddata', check)
    video.addEventListener('error', check)
    video.addEventListener('loadedmetadata', () => {
      video.preload = 'auto'
    })
    check()
  })
}

async function twoFrames(): Promise<void> {
  await new Promise(requestAnimationFrame)
  await new Promise(requestAnimationFrame)
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, patience_ms))
}
