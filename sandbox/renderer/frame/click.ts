/** The first click on the creative, told before the browser follows the link. Keyboard and middle clicks count too. */
export function watchClick(link: HTMLElement, clicked: (user_activated: boolean) => void): void {
  let isTold = false
  const tell = (event: Event): void => {
    if (isTold) return
    isTold = true
    clicked(navigator.userActivation?.isActive ?? event.isTrusted)
  }
  link.addEventListener('click', tell)
  link.addEventListener('auxclick', (event) => {
    if (event.button === 1) tell(event)
  })
}
